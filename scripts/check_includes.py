#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Includes go one way: a room may include itself and the rooms before it in ROOMS, an app any room, a room never an app.

Rooms that share a rank (the framework folders) may not include each other, but for those of BUILDS_ON; all may build on framework/torch,
and what lies in src/framework itself, which lists their dialects, sees them all. Prints one line per include that breaks this.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ["base", "release", "option", "tape", "allocator", "timeline", "outcome", "mesh", "model", "ghost", "nn", "family", "ggml", "workload",
         "time", "serving", "framework", "formats", "evidence", "report", "predict", "plan", "launch", "exports", "answer"]
SOURCES = {".h", ".cpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
BUILT_ON_BY_ALL = {"framework/torch"}
BUILDS_ON = {  # a framework that another is made of
    "framework/fsdp1": {"framework/ddp"},
    "framework/litgpt": {"framework/fsdp1", "framework/transformers"},  # Lightning's strategy, bitsandbytes
    "framework/sglang": {"framework/vllm"},
    "framework/transformers": {"framework/ddp", "framework/fsdp1", "framework/fsdp2", "framework/deepspeed",
                               "framework/torch_tp"},  # the plan that loading counts by
    "framework/torch_tp": {"framework/fsdp2"},
    "framework/torch_cp": {"framework/fsdp2"},
    "framework/torchtune": {"framework/transformers"},  # bitsandbytes and torchao
    "framework/torchtitan": {"framework/ddp", "framework/fsdp2", "framework/torch_tp", "framework/torch_cp", "framework/torch_pp"},
}
SYSTEM_INCLUDE = re.compile(r"^\s*#\s*include\s+<([^>]+)>", re.MULTILINE)
EFFECTS = {"fstream", "iostream", "filesystem", "thread", "mutex", "future", "unistd.h", "cstdio"}


def room_of(path):
    """"framework/torch" for framework/torch/step.h, "base" for base/text.h, None when it is no room."""
    parts = path.split("/")
    if parts[0] not in ROOMS or len(parts) < 2:
        return None
    return "/".join(parts[:2]) if parts[0] == "framework" and len(parts) > 2 else parts[0]


def rank(room):
    return ROOMS.index(room.split("/")[0])


def allowed(user, used):
    return user == used or rank(used) < rank(user) or (
        rank(used) == rank(user) and (user == "framework" or used in BUILDS_ON.get(user, set()) | BUILT_ON_BY_ALL))


def faults_of_room_file(path, text):
    name = path.relative_to(ROOT)
    room = room_of(str(path.relative_to(ROOT / "src")))
    if room is None:
        yield f"{name}: lies in no room of scripts/check_includes.py"
        return
    for included in INCLUDE.findall(text):
        used = room_of(included)
        if used is None:
            yield f'{name}: "{included}" names no room; write the path from src/'
        elif not allowed(room, used):
            yield f'{name}: {room} may not use {used} ("{included}")'
    for header in SYSTEM_INCLUDE.findall(text):
        if header in EFFECTS:
            yield f"{name}: <{header}> brings files, streams or threads into a room; effects live in apps/"


def main():
    faults, files = [], 0
    for folder in ("src", "apps", "phantom", "fuzz", "bench", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            files += 1
            text = path.read_text(encoding="utf-8")
            if folder == "src":
                faults += faults_of_room_file(path, text)
    print("\n".join(faults + [f"{files} files, {len(faults)} faults"]))
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
