# SPDX-License-Identifier: Apache-2.0
"""Python stacks in the program's own terms: torch's frames say how, the frame above them says where."""
import os
import sys

_AGENT = os.path.dirname(os.path.abspath(__file__))
_DEEPEST = 12
_torch = "/torch/"


def know_torch(torch):
    global _torch
    _torch = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


def is_inner(filename):
    return filename.startswith(_torch) or filename.startswith(_AGENT) or filename.startswith("<frozen") or not filename


def short(filename):
    """`train.py`, `transformers/models/llama/modeling_llama.py`: from the package on, or below the working folder."""
    for mark in ("site-packages" + os.sep, "dist-packages" + os.sep):
        if mark in filename:
            return filename.split(mark)[-1]
    here = os.getcwd() + os.sep
    return filename[len(here):] if filename.startswith(here) else filename


def of_frames(frames):
    """Innermost first: places of a recorded stack ({"filename", "line", "name"}), torch's own left out."""
    places = ["%s:%d %s" % (short(f["filename"]), f["line"], f["name"]) for f in frames
              if f.get("filename", "").endswith(".py") and not is_inner(f["filename"])]
    return places[:_DEEPEST]


def inner_of_frames(frames):
    """The innermost Python place, torch's included: which optimizer or which module's code it was."""
    for f in frames:
        if f.get("filename", "").endswith(".py") and not f["filename"].startswith(_AGENT):
            return "%s:%d %s" % (short(f["filename"]), f["line"], f["name"])
    return ""


def here(skip=1):
    """The calling stack as `of_frames` gives it."""
    frame, places = sys._getframe(skip), []
    while frame is not None and len(places) < _DEEPEST:
        code = frame.f_code
        if not is_inner(code.co_filename):
            places.append("%s:%d %s" % (short(code.co_filename), frame.f_lineno, code.co_name))
        frame = frame.f_back
    return places


def outer_frame(skip=1):
    """The innermost frame of the program's own code, or None."""
    frame = sys._getframe(skip)
    while frame is not None and is_inner(frame.f_code.co_filename):
        frame = frame.f_back
    return frame
