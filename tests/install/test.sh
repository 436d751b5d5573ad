#!/usr/bin/env bash
# test.sh BUILD_DIR: installs the tree, builds an outside project against it by find_package and by pkg-config, runs it,
# and shows that an embedded program links neither libpq nor gRPC.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:?usage: test.sh BUILD_DIR}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "install test: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/first" >/dev/null
# Moved after the installation: nothing may remember the first place.
mv "$work/first" "$work/tree"
root="$work/tree"
compiler=${CXX:-clang++-19}

cmake -S "$here/outside" -B "$work/outside" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$root" >"$work/log" ||
  { cat "$work/log"; fail "find_package(semel) failed"; }
ninja -C "$work/outside" --quiet || fail "the outside project does not build"

PKG_CONFIG_PATH=$(find "$root" -type d -name pkgconfig)
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
"$compiler" -std=c++20 "$here/outside/embedded.cc" $(pkg-config --cflags --libs semel) -o "$work/embedded" ||
  fail "pkg-config semel does not build a program"
# shellcheck disable=SC2046
"$compiler" -std=c++20 "$here/outside/shared_store.cc" $(pkg-config --cflags --libs semel-postgres) -o "$work/shared_store" ||
  fail "pkg-config semel-postgres does not build a program"

cd "$work"
for program in "$work/outside/embedded" "$work/embedded"; do
  "$program" >"$work/output" || fail "$program failed"
  diff "$here/outside/embedded.expected" "$work/output" || fail "the program printed something else"
  ldd "$program" | grep -Ei 'libpq|grpc' && fail "an embedded program links libpq or gRPC"
  nm -C "$program" | grep -E '\bPQ[a-z]|grpc::' && fail "an embedded program contains libpq or gRPC symbols"
done
ldd "$work/outside/shared_store" | grep -q libpq || fail "semel::postgres does not bring libpq"
echo "install test: ok"
