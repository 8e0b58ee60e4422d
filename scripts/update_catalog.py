#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rewrites data/models, the catalog of model configurations, from a folder of config.json files.

    scripts/update_catalog.py FOLDER [--strip REGEX]

FOLDER holds INDEX.jsonl, one model a line, and the files it names:
    {"id": "org/name", "file": "org__name.json", "params_exact": 1234, "params_hub_total": 1300,
     "params_source": "...", "config_source": "...", "note": "..."}
Only id and file are required. --strip removes what matches from the source texts (a curator's private notes).
The result is sorted, one spelling of JSON throughout, so that the same folder always gives the same bytes. Models that the
folder does not have stay as they are. A line {"id": "org/name", "same_as": "org/other", "config_source": "..."} has no file: its
configuration differs from the other's in nothing that memory depends on.
"""

import argparse
import json
import pathlib
import re
import sys

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "models"
ID = re.compile(r"[\w.-]+/[\w.-]+")
FIELDS = {
    "parameters": "params_exact",
    "hub_parameters": "params_hub_total",
    "parameters_source": "params_source",
    "config_source": "config_source",
    "note": "note",
}


def entry(row, strip):
    """One line of our index from one line of theirs."""
    if not ID.fullmatch(row["id"]):
        sys.exit(f"{row['id']}: not a hub id (org/name)")
    ours = {"id": row["id"]}
    if "same_as" in row:
        ours["same_as"] = row["same_as"]
    else:
        ours["file"] = row["id"].replace("/", "__") + ".json"
    for field, theirs in FIELDS.items():
        value = row.get(theirs, row.get(field))
        if isinstance(value, str) and strip:
            value = " ".join(re.sub(strip, "", value).replace(" ,", ",").split())
        if value is not None:
            ours[field] = value
    return ours


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--strip", metavar="REGEX", help="remove what matches from the source texts")
    args = parser.parse_args()

    lines = (args.folder / "INDEX.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    configs = {row["id"]: json.loads((args.folder / row["file"]).read_text(encoding="utf-8")) for row in rows if "file" in row}
    known = {row["id"] for row in rows}
    index = DATA / "INDEX.jsonl"
    held = [json.loads(line) for line in index.read_text(encoding="utf-8").splitlines()] if index.exists() else []
    kept_rows = [row for row in held if row["id"] not in known]
    configs |= {row["id"]: json.loads((DATA / row["file"]).read_text(encoding="utf-8")) for row in kept_rows if "file" in row}
    entries = sorted([entry(row, args.strip) for row in rows] + kept_rows, key=lambda ours: ours["id"].lower())

    DATA.mkdir(parents=True, exist_ok=True)
    kept = {ours["file"] for ours in entries if "file" in ours}
    for old in DATA.glob("*.json"):
        if old.name not in kept:
            old.unlink()
    for ours in entries:
        if "file" not in ours:
            continue
        text = json.dumps(configs[ours["id"]], indent=1, ensure_ascii=False) + "\n"
        (DATA / ours["file"]).write_text(text, encoding="utf-8")
    index = "".join(json.dumps(ours, ensure_ascii=False) + "\n" for ours in entries)
    (DATA / "INDEX.jsonl").write_text(index, encoding="utf-8")
    print(f"{len(entries)} models in {DATA}")


if __name__ == "__main__":
    main()
