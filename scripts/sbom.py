#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a release is made of, as CycloneDX 1.6: memtape and the libraries that its files carry.

    sbom.py > memtape.cdx.json
"""
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Libraries that are headers come from Debian's packages of the machine that builds; their versions are those of Debian 12.
HEADERS = [("fmt", "9.1.0", "MIT"), ("tl-expected", "1.0.0", "CC0-1.0"), ("nlohmann_json", "3.11.2", "MIT"),
           ("tomlplusplus", "3.3.0", "MIT")]
LICENCES = {"zlib": "Zlib", "yaml": "MIT", "event": "BSD-3-Clause"}


def component(name, version, licence, digest=None):
    entry = {"type": "library", "name": name, "version": version, "licenses": [{"license": {"id": licence}}]}
    if digest:
        entry["hashes"] = [{"alg": "SHA-256", "content": digest}]
    return entry


def fetched():
    """Those of scripts/fetch_libraries.sh with the sums of their sources."""
    for line in (ROOT / "scripts" / "fetch_libraries.sh").read_text().splitlines():
        found = re.match(r"fetch \S+ ([0-9a-f]{64}) ([a-z]+)-([0-9.]+)$", line)
        if found:
            yield component(found[2], found[3], LICENCES[found[2]], found[1])


def main():
    version = re.search(r"project\(memtape VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    own = {"type": "application", "name": "memtape", "version": version, "licenses": [{"license": {"id": "Apache-2.0"}}]}
    print(json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": {"component": own},
                      "components": [*fetched(), *(component(*library) for library in HEADERS)]}, indent=2))


if __name__ == "__main__":
    main()
