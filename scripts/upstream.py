#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is transcribed of other projects, and what their next release changes of it.

    upstream.py status PACKAGE==VERSION [--installed PYTHON] [--diff]   what it changes of what is transcribed, on one screen
    upstream.py compared PACKAGE==VERSION [--installed PYTHON]          note in data/upstream that the rules were compared with it
    upstream.py unread PACKAGE                                          note there which files are otherwise at releases between those
    upstream.py watch PACKAGE==VERSION... [--python PYTHON] [--only REGEX] [--rows FILE...] [--minutes N]
                                                                        record steps with these releases on the phantom GPU, and
                                                                        group by cause what differs from the answers
    upstream.py newest PACKAGE...                                       the newest releases on PyPI, as PACKAGE==VERSION
    upstream.py packages                                                what there is a ledger of

Sources come from the release's wheel on PyPI (kept in ~/.cache/memtape/upstream), or from the environment of an interpreter.
Example: scripts/upstream.py status transformers==5.23.0 --diff
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

from releases import ledger, sources, status, unread, watch, watch_rows


def folder_of(package, version, python):
    if package not in ledger.packages():
        raise sources.SourceError(f"{package}: no ledger (one of {', '.join(ledger.packages())})")
    return sources.installed(python, package) if python else sources.of_release(package, version)


def run_status(options):
    package, version = sources.parse_release(options.release)
    print(status.report(package, version, folder_of(package, version, options.installed), options.diff))


def run_compared(options):
    package, version = sources.parse_release(options.release)
    compared = ledger.Compared(package)
    found = ledger.hashes_of(package, folder_of(package, version, options.installed))
    compared.put(version, found)
    compared.save()
    print(f"{package} {version}: {len(found)} symbols noted, {len(compared.releases)} releases in all")


def run_unread(options):
    files = unread.write(options.package)
    releases, _ = unread.read(options.package)
    print(f"{options.package}: {len(files)} files are otherwise at one of {len(releases)} releases between those compared")


def environment_with(releases, folder):
    """A new virtual environment with those releases and what the recipes need beside them."""
    python = folder / "venv" / "bin" / "python"
    for words in ([sys.executable, "-m", "venv", str(folder / "venv")],
                  [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *releases, "accelerate", "peft"]):
        print("upstream: " + " ".join(words[:6]) + " ...", file=sys.stderr)
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise sources.SourceError(f"{words[0]}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    return str(python)


def run_watch(options):
    for release in options.releases:
        sources.parse_release(release)
    rows = [*watch_rows.small_rows(options.rows or watch_rows.SMALL_STEPS)]
    if not options.rows:
        rows += watch_rows.full_depth_rows(options.gpu)
    rows = watch_rows.chosen(rows, options.gpu, options.only)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        python = options.python or environment_with(options.releases, folder)
        cases = watch_rows.make_cases(rows, ",".join(options.releases), folder)
        print(watch.run(cases, python, folder, options.gpu, options.minutes * 60))


def run_newest(options):
    print(" ".join(f"{package}=={sources.newest(package)}" for package in options.packages))


def run_packages(_):
    for package in ledger.packages():
        print(f"{package}: {len(ledger.transcriptions(package))} files, compared with {', '.join(ledger.Compared(package).releases) or 'none'}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, run in (("status", run_status), ("compared", run_compared)):
        command = commands.add_parser(name)
        command.add_argument("release", metavar="PACKAGE==VERSION")
        command.add_argument("--installed", metavar="PYTHON", help="take the sources from this interpreter's environment")
        command.set_defaults(run=run)
        if name == "status":
            command.add_argument("--diff", action="store_true", help="show what changed")
    command = commands.add_parser("unread")
    command.add_argument("package", metavar="PACKAGE", choices=ledger.packages())
    command.set_defaults(run=run_unread)
    command = commands.add_parser("watch")
    command.add_argument("releases", nargs="+", metavar="PACKAGE==VERSION")
    command.add_argument("--python", help="an interpreter that has them (else an environment is made)")
    command.add_argument("--only", metavar="REGEX", default="", help="the rows whose id it matches")
    command.add_argument("--rows", nargs="+", metavar="FILE", help="files of tests/truth (small models, and each family once at full depth)")
    command.add_argument("--gpu", default="a100-80gb", help="rows of this GPU (a100-80gb)")
    command.add_argument("--minutes", type=float, default=12, help="no step is begun later (12); what is left out is counted")
    command.add_argument("--keep", metavar="FOLDER", help="keep the recordings there")
    command.set_defaults(run=run_watch)
    command = commands.add_parser("newest")
    command.add_argument("packages", nargs="+", metavar="PACKAGE")
    command.set_defaults(run=run_newest)
    commands.add_parser("packages").set_defaults(run=run_packages)
    return parser.parse_args()


def main():
    options = arguments()
    try:
        options.run(options)
    except sources.SourceError as error:
        print(f"upstream: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
