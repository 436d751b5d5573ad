#!/usr/bin/env bash
# Does work cost the same in a store that has grown?
#
#   bench/growth.sh [--finished N] [--queued N]
#
# Drains 50,000 tasks from a new store and, alternating, from one with N finished ones beside them (10,000,000), then N queued
# at once (1,000,000), on SQLite and on the PostgreSQL of SEMEL_TEST_PG. The finished rows are written by SQL. At last, how long
# it is from an enqueue to its handler's start while they are kept and, alternating, while they are being removed, and how many
# are removed in a second. What alternates is done three times, and the middle one counts. One JSON object per store.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

semel=${SEMEL:-$PWD/build/release/semel}
finished=10000000
queued=1000000
while (($# > 0)); do
  case $1 in
    --finished) finished=$2; shift ;;
    --queued) queued=$2; shift ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
  shift
done
: "${SEMEL_TEST_PG:?growth: SEMEL_TEST_PG names no PostgreSQL}"

work=$(mktemp -d "${TMPDIR:-/tmp}/semel-growth.XXXXXX")
pg() { sed -E "s#^(postgres(ql)?://[^/]*)/[^?]*#\1/$1#" <<<"$SEMEL_TEST_PG"; }
drop() { psql -q "$SEMEL_TEST_PG" -c "drop database if exists $1 with (force)" >/dev/null 2>&1 || true; }
finish() {
  drop semel_growth
  drop semel_growth_new
  rm -rf "$work"
}
trap finish EXIT
say() { printf '== %s\n' "$*" >&2; }

drain() { "$semel" bench drain --store "$1" --count "$2" --json | sed -E 's/.*"rate":([0-9.]+).*/\1/'; }
latency() { "$semel" bench latency --store "$1" --count 1000 --json | sed -E 's/.*"p99_ms":([0-9.]+).*/\1/'; }
keep() { "$semel" queue set history --retention "$2" --store "$1" >/dev/null; }
middle() { printf '%s\n' "$@" | sort -g | sed -n 2p; }

# Ids in time order, an hour old, each with its identity: what a week of work leaves.
load_postgres() {
  psql -q -v ON_ERROR_STOP=1 "$1" <<SQL
set synchronous_commit = off;
insert into semel.lane (id, tenant, queue) select max(id) + 1, 1, 'history' from semel.lane;
create temp view past as select n, (lpad(to_hex(extract(epoch from now())::bigint * 1000 - 3600000 + n / 10000), 12, '0') || '7' ||
  lpad(to_hex(n % 4096), 3, '0') || 'a' || lpad(to_hex(n), 15, '0'))::uuid as id,
  (extract(epoch from now())::bigint - 3600) * 1000000 as at from generate_series(1, $finished) n;
insert into semel.execution (id, created_at, scheduled_at, started_at, completed_at, tenant, lane, priority, max_attempts, version,
  attempt, kind, status, last_end, name, identity, worker, result, encoding, policy, args)
select id, at, at, at, at, 1, (select max(id) from semel.lane), 100, 3, 3, 1, 0, 4, 1, 'noop', 'old-' || n, 'bench', 'null', 0, '',
  '{"i":1,"k":"noop"}' from past;
insert into semel.identity (tenant, space, key, target, target_kind, tombstone, revision)
select 1, 0, 'old-' || n, id, 0, false, 1 from past;
vacuum analyze semel.execution; vacuum analyze semel.identity; checkpoint;
SQL
}
load_sqlite() {
  python3 - "$1" "$finished" <<'PYTHON'
import sqlite3, sys, time
path, count = sys.argv[1], int(sys.argv[2])
db = sqlite3.connect(path, isolation_level=None)
db.executescript("pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -400000;")
db.execute("insert into lane (id, tenant, queue) select max(id) + 1, 1, 'history' from lane")
lane = db.execute("select max(id) from lane").fetchone()[0]
now = int(time.time())
def ident(n): return bytes.fromhex("%012x7%03xa%015x" % ((now - 3600) * 1000 + n // 10000, n % 4096, n))
at = (now - 3600) * 1000000
db.execute("begin")
db.executemany("insert into execution (id, tenant, lane, kind, name, identity, priority, max_attempts, attempt_timeout, "
               "idempotency_key_ttl_seconds, created_at, status, version, attempt, flags, last_end, close_reason, suspend_reason, "
               "scheduled_at, started_at, completed_at, worker, result) values (?, 1, ?, 0, 'noop', ?, 100, 3, 0, 0, ?, 4, 3, 1, 0, 1, "
               "0, 0, ?, ?, ?, 'bench', x'6e756c6c')", ((ident(n), lane, "old-%09d" % n, at, at, at, at) for n in range(count)))
db.executemany("insert into payload values (?, 0, ?, '')", ((ident(n), b'{"i":1,"k":"noop"}') for n in range(count)))
db.executemany("insert into identity (tenant, space, key, target, target_kind, tombstone, revision) values (1, 0, ?, ?, 0, 0, 1)",
               (("old-%09d" % n, ident(n)) for n in range(count)))
db.execute("commit")
db.execute("pragma journal_mode = wal")
PYTHON
}

rows() {
  if [[ $1 == sqlite ]]; then
    python3 -c "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(\"select count(*) from execution where worker = 'bench' and identity like 'old-%'\").fetchone()[0])" "$work/growth.db"
  else psql -qAt "$url" -c "select count(*) from semel.execution where identity like 'old-%'"; fi
}

for store in sqlite postgres; do
  if [[ $store == sqlite ]]; then
    url=sqlite:$work/growth.db
    new=sqlite:$work/new.db
  else
    psql -q "$SEMEL_TEST_PG" -c "create database semel_growth" -c "create database semel_growth_new"
    url=$(pg semel_growth)
    new=$(pg semel_growth_new)
  fi
  say "$store: loading $finished finished rows"
  drain "$url" 1000 >/dev/null
  if [[ $store == sqlite ]]; then load_sqlite "$work/growth.db"; else load_postgres "$url"; fi
  say "$store: new and grown"
  empty=() grown=() quiet=() cleaning=()
  for _ in 1 2 3; do
    empty+=("$(drain "$new" 50000)")
    grown+=("$(drain "$url" 50000)")
  done
  say "$store: $queued queued"
  many=$(drain "$url" "$queued")
  say "$store: cleanup"
  before=$(rows "$store")
  took=0
  for _ in 1 2 3; do
    keep "$url" 7d
    quiet+=("$(latency "$url")")
    keep "$url" 1s
    start=$(date +%s%N)
    cleaning+=("$(latency "$url")")
    took=$((took + $(date +%s%N) - start))
  done
  removed=$(((before - $(rows "$store")) * 1000000000 / took))
  echo "{\"store\":\"$store\",\"finished\":$finished,\"queued\":$queued,\"empty_rate\":$(middle "${empty[@]}"),\"grown_rate\":$(middle "${grown[@]}"),\"queued_rate\":$many,\"latency_p99_ms\":$(middle "${quiet[@]}"),\"latency_p99_ms_in_cleanup\":$(middle "${cleaning[@]}"),\"removed_per_second\":$removed}"
done
