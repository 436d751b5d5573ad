#!/usr/bin/env bash
# test.sh BUILD_DIR: installs the tree, builds an outside project against it by find_package and by pkg-config, runs its
# programs, and shows that an embedded one links neither libpq nor gRPC. SEMEL_TEST_PG names a PostgreSQL to share.
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
mkdir "$work/by-pkg-config"

cmake -S "$here/outside" -B "$work/by-cmake" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$root" >"$work/log" ||
  { cat "$work/log"; fail "find_package(semel) failed"; }
ninja -C "$work/by-cmake" --quiet || fail "the outside project does not build"

PKG_CONFIG_PATH=$(find "$root" -type d -name pkgconfig)
export PKG_CONFIG_PATH
# by_pkg_config PROGRAM PACKAGE
by_pkg_config() {
  # shellcheck disable=SC2046
  "$compiler" -std=c++20 "$here/outside/$1.cc" $(pkg-config --cflags --libs "$2") -o "$work/by-pkg-config/$1" ||
    fail "pkg-config $2 does not build $1"
}
by_pkg_config embedded semel
by_pkg_config shared_store semel-postgres
by_pkg_config with_test_kit semel-testing

# runs PROGRAM [ARGUMENT]: both builds of it print what PROGRAM.expected says.
runs() {
  local program=$1 way
  shift
  for way in by-cmake by-pkg-config; do
    (cd "$work" && "$work/$way/$program" "$@" >"$work/output") || fail "$program ($way) failed"
    diff "$here/outside/$program.expected" "$work/output" || fail "$program ($way) printed something else"
  done
}
runs embedded
runs with_test_kit
runs shared_store "${SEMEL_TEST_PG:?names the PostgreSQL to share; ./dev test starts one}"

for program in "$work/by-cmake/embedded" "$work/by-pkg-config/embedded"; do
  ldd "$program" | grep -Ei 'libpq|grpc' && fail "an embedded program links libpq or gRPC"
  nm -C "$program" | grep -E '\bPQ[a-z]|grpc::' && fail "an embedded program contains libpq or gRPC symbols"
done
ldd "$work/by-cmake/shared_store" | grep -q libpq || fail "semel::postgres does not bring libpq"
[[ ! -e "$root/bin/semel" ]] || "$root/bin/semel" --help >/dev/null || fail "the installed binary does not start"
echo "install test: ok"
