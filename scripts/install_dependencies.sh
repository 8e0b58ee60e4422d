#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the packages that are missing: on Debian 12 and 13, Ubuntu 22.04 and 24.04, Fedora, Arch and macOS with Homebrew. Says
# what it does on standard error; standard output stays clean.
#   install_dependencies.sh          what building and running memtape needs
#   install_dependencies.sh --check  and what ./check needs: tests, fuzzing, formatting
#   install_dependencies.sh --list   only what this system calls them
set -eu
cd "$(dirname "$0")/.."

# What is needed, as Debian calls it.
run="cmake g++ ninja-build libexpected-dev libfmt-dev nlohmann-json3-dev zlib1g-dev libyaml-dev libtomlplusplus-dev
  libevent-dev python3 libcurl4 ca-certificates"
check="ccache mold libbenchmark-dev libgmock-dev libgtest-dev librapidcheck-dev git curl
  clang-19 clang-format-19 libclang-rt-19-dev lld-19"

# The same by other names; what is left out there comes with the system or another package.
of_fedora() {
  case $1 in
    g++) echo gcc-c++ ;; libexpected-dev) echo expected-devel ;; libfmt-dev) echo fmt-devel ;;
    nlohmann-json3-dev) echo json-devel ;; zlib1g-dev) echo zlib-devel ;; libyaml-dev) echo libyaml-devel ;;
    libtomlplusplus-dev) echo tomlplusplus-devel ;; libevent-dev) echo libevent-devel ;; libcurl4) echo libcurl ;;
    libbenchmark-dev) echo google-benchmark-devel ;; libgmock-dev) echo gmock-devel ;; libgtest-dev) echo gtest-devel ;;
    librapidcheck-dev) echo rapidcheck-devel ;; clang-19) echo clang ;; clang-format-19) echo clang-tools-extra ;;
    libclang-rt-19-dev) echo compiler-rt ;; lld-19) echo lld ;; *) echo "$1" ;;
  esac
}
of_arch() {
  case $1 in
    g++) echo gcc ;; ninja-build) echo ninja ;; libexpected-dev) echo tl-expected ;; libfmt-dev) echo fmt ;;
    nlohmann-json3-dev) echo nlohmann-json ;; zlib1g-dev) echo zlib ;; libyaml-dev) echo libyaml ;;
    libtomlplusplus-dev) echo tomlplusplus ;; libevent-dev) echo libevent ;; python3) echo python ;; libcurl4) echo curl ;;
    ca-certificates) echo ca-certificates ;; libbenchmark-dev) echo benchmark ;; libgmock-dev | libgtest-dev) echo gtest ;;
    librapidcheck-dev) echo rapidcheck ;; clang-19 | clang-format-19) echo clang ;; libclang-rt-19-dev) echo compiler-rt ;;
    lld-19) echo lld ;; *) echo "$1" ;;
  esac
}
of_homebrew() {
  case $1 in
    g++ | zlib1g-dev | python3 | libcurl4 | ca-certificates | git | mold | curl) ;;
    clang-19 | libclang-rt-19-dev | lld-19) echo llvm ;; clang-format-19) echo clang-format ;;
    ninja-build) echo ninja ;; libexpected-dev) echo tl-expected ;; libfmt-dev) echo fmt ;;
    nlohmann-json3-dev) echo nlohmann-json ;; libyaml-dev) echo libyaml ;; libtomlplusplus-dev) echo tomlplusplus ;;
    libevent-dev) echo libevent ;; libbenchmark-dev) echo google-benchmark ;; libgmock-dev | libgtest-dev) echo googletest ;;
    librapidcheck-dev) echo rapidcheck ;; *) echo "$1" ;;
  esac
}

wanted=$run
case "${1-}" in
  --check) wanted="$wanted $check" ;;
  --list | "") ;;
  *) echo "memtape: install_dependencies.sh: unknown option $1 (--check or --list)" >&2; exit 2 ;;
esac

named() {  # NAMES: the wanted packages by the names of one system
  for package in $wanted; do "$1" "$package"; done | sort -u | tr '\n' ' '
}
if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
  packages=$(echo $wanted)
  # Ubuntu 22.04's own compiler is GCC 11; 12 is the oldest that will do.
  if [ "$(. /etc/os-release 2>/dev/null; echo "${VERSION_ID-}")" = 22.04 ]; then packages="$packages g++-12"; fi
  is_there() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
  install() { $as_root apt-get install -y -qq --no-install-recommends "$@" || { $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends "$@"; }; }
elif command -v dnf >/dev/null; then
  packages=$(named of_fedora)
  is_there() { rpm -q "$1" >/dev/null 2>&1; }
  install() { $as_root dnf install -y -q "$@"; }
elif command -v pacman >/dev/null; then
  packages=$(named of_arch)
  is_there() { pacman -Q "$1" >/dev/null 2>&1; }
  install() { $as_root pacman -S --needed --noconfirm "$@"; }
elif command -v brew >/dev/null; then
  packages=$(named of_homebrew)
  is_there() { brew list --formula "$1" >/dev/null 2>&1; }
  install() { brew install --quiet "$@"; }
else
  echo "memtape: this system has no package manager that is known; install what these packages of Debian hold: $(echo $wanted)" >&2
  exit 0
fi
if [ "${1-}" = --list ]; then echo $packages; exit 0; fi

missing=
for package in $packages; do is_there "$package" || missing="$missing $package"; done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ] && ! command -v brew >/dev/null; then
  command -v sudo >/dev/null || { echo "memtape: please install as root:$missing" >&2; exit 3; }
  as_root=sudo
fi
echo "memtape: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
mkdir -p build
log=build/install.log
install $missing >$log 2>&1 </dev/null || {
  tail -n 20 $log >&2
  echo "memtape: installing failed; needed are:$missing" >&2
  exit 3
}
