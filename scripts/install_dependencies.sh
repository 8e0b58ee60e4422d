#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing. Says what it does on standard error; standard output stays clean.
#   install_dependencies.sh          what building and running memtape needs
#   install_dependencies.sh --check  and what ./check needs: tests, fuzzing, formatting
set -eu
cd "$(dirname "$0")/.."

run="cmake g++ ninja-build libcli11-dev libexpected-dev libfmt-dev nlohmann-json3-dev zlib1g-dev libyaml-dev libtomlplusplus-dev libevent-dev python3
  libcurl4 ca-certificates"
check="ccache mold libbenchmark-dev libgmock-dev libgtest-dev librapidcheck-dev git
  clang-19 clang-format-19 libclang-rt-19-dev lld-19"

wanted=$run
[ "${1-}" = --check ] && wanted="$wanted $check"

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "memtape: this is no Debian system; install what these packages hold: $(echo $wanted)" >&2
  exit 0
fi

missing=
for package in $wanted; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "memtape: please install as root: apt-get install$missing" >&2; exit 3; }
  as_root=sudo
fi
echo "memtape: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
mkdir -p build
log=build/install.log
install() { $as_root apt-get install -y -qq --no-install-recommends $missing; }
{ install || { $as_root apt-get update -qq && install; }; } >$log 2>&1 </dev/null || {
  tail -n 20 $log >&2
  echo "memtape: installing failed; needed are:$missing" >&2
  exit 3
}
