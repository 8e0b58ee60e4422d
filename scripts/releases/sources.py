# SPDX-License-Identifier: Apache-2.0
"""The Python sources of a release: from its wheel on PyPI, kept in a cache, or from an environment where it is installed."""
import glob
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "memtape" / "upstream"


class SourceError(Exception):
    """One line: what is missing, and what would be right."""


def import_name(package: str) -> str:
    return {"megatron-core": "megatron", "liger-kernel": "liger_kernel"}.get(package, package.replace("-", "_"))


def parse_release(text: str):
    """("transformers", "5.23.0") of "transformers==5.23.0"."""
    package, equals, version = text.partition("==")
    if not equals or not package or not version:
        raise SourceError(f'"{text}" names no release (PACKAGE==VERSION, like transformers==5.23.0)')
    return package.strip().lower(), version.strip()


def newest(package: str) -> str:
    """The newest release on PyPI that is no candidate."""
    done = subprocess.run([sys.executable, "-m", "pip", "index", "versions", "--disable-pip-version-check", package],
                          capture_output=True, text=True)
    found = re.match(rf"{re.escape(package)} \(([^)]+)\)", done.stdout)
    if done.returncode or not found:
        raise SourceError(f"{package}: PyPI does not say its newest release")
    return found[1]


def installed(python: str, package: str) -> pathlib.Path:
    """The package's folder in the environment of that interpreter."""
    prefix = pathlib.Path(python).absolute().parent.parent
    found = sorted(glob.glob(str(prefix / "lib" / "python3*" / "site-packages" / import_name(package))))
    if not found:
        raise SourceError(f"{package} is not installed beside {python}")
    return pathlib.Path(found[0])


def of_release(package: str, version: str) -> pathlib.Path:
    """The package's folder out of its wheel; the wheel is fetched once and only its .py files are kept."""
    target = CACHE / f"{package}-{version}"
    if not (target / ".whole").exists():
        target.mkdir(parents=True, exist_ok=True)
        _unpack(package, version, target)
        (target / ".whole").touch()
    folder = target / import_name(package)
    if not folder.is_dir():
        raise SourceError(f"the wheel of {package} {version} has no folder {folder.name}")
    return folder


def _unpack(package: str, version: str, target: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                 "--only-binary", ":all:", "--dest", folder, f"{package}=={version}"]
        done = subprocess.run(words, capture_output=True, text=True)
        wheels = glob.glob(os.path.join(folder, "*.whl"))
        if done.returncode or not wheels:
            reason = (done.stderr.strip().splitlines() or ["no wheel"])[-1]
            raise SourceError(f"{package}=={version} cannot be fetched: {reason}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(target, [name for name in wheel.namelist() if name.endswith(".py") and ".." not in name])
