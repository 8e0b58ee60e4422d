#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names: what one file of a room keeps in an unnamed namespace has a name of its own within the room.

The presets for those who build to use compile the files of a room together, in batches. So no two files of a room may define the
same name in unnamed namespaces, nor may one be that of something another file of the room declares: not as overloads either, of
which the compiler would silently take the wrong one. NAME.h and NAME.cpp are one file. A function that takes a type of its own
file's unnamed namespace may share a name, since no other file can mean it.
Declarations are found by matching braces with comments and strings removed, and read from their heads.
"""
import collections
import pathlib
import re
import sys

from check_sizes import without_noise

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
NAMESPACE = re.compile(r"(?:inline )?namespace ?([\w:]*)$")
TEMPLATE = re.compile(r"^template ?<.*?> (?=[a-z]\w* )")
TYPE = re.compile(r"(?:(?:enum class|enum|class|struct|union) (\w+)(?!\w| *::| *<)|using (\w+) =)")
FUNCTION = re.compile(r"[\w>][&* ]+(\w+) ?$")
VARIABLE = re.compile(r"\b([A-Za-z_]\w*)(?: ?\[[^\]]*\])*$")
PASSED_OVER = ("using ", "namespace ", "static_assert", "friend ", "extern ")


def declarations(code):
    """(namespaces around it, head) of each declaration that is in no type and no function; a head ends before a body or a value."""
    scopes, start = [], 0
    for at, char in enumerate(code):
        outside = None not in scopes
        if char == "}" and scopes:
            scopes.pop()
            if None not in scopes:
                start = at + 1
        elif char in "{;":
            head = " ".join(code[start:at].split())
            namespace = NAMESPACE.match(head)
            if outside and head and not namespace:
                yield list(scopes), head
            if char == "{":
                scopes.append(namespace.group(1) if namespace else None)
            if outside and (namespace or char == ";"):
                start = at + 1


def split(text):
    """At the commas that no bracket holds."""
    parts, depth, begin = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "(<[") - (char in ")>]")
        if char == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    return parts + [text[begin:].strip()]


def parameter_types(text):
    """The types between the first bracket and its partner, without the parameters' names and values."""
    depth = 1
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            text = text[:at]
            break
    types = (re.sub(r" ?=.*", "", one) for one in split(text))
    return tuple(re.sub(r"(?<=[\w>&*]) ?(?<![:\w])\w+$", "", one) for one in types)


def named(head):
    """(name, types of its parameters, or None of what is no function) of all that a declaration names."""
    head = TEMPLATE.sub("", re.sub(r"\[\[.*?\]\] ?", "", head))
    of_type = TYPE.match(head)
    if of_type:
        yield of_type.group(1) or of_type.group(2), None
    if of_type or head.startswith(PASSED_OVER) or "operator" in head:
        return
    value = re.search(r"(?<![=!<>])=(?!=)", head)
    before, bracket, parameters = head[: value.start() if value else None].partition("(")
    if bracket:
        function = FUNCTION.search(before)
        if function:
            yield function.group(1), parameter_types(parameters)
        return
    for part in split(re.sub(r"=[^,]*", "", head)) if " " in head else ():
        variable = VARIABLE.search(part)
        if variable:
            yield variable.group(1), None


def names_of(files):
    """Of each name in its namespace: (is in an unnamed namespace, parameter types, file) of each declaration."""
    found = collections.defaultdict(set)
    for path in files:
        code = DIRECTIVE.sub("", without_noise(path.read_text(encoding="utf-8")))
        for scopes, head in declarations(code):
            for name, types in named(head):
                found["::".join(filter(None, scopes)) + "::" + name].add(("" in scopes, types, path))
    return found


def met(places, own_types):
    """The files that hold a name which another one's unnamed namespace holds, too. `own_types`: of each file's unnamed namespaces."""
    files = set()
    for unnamed, types, path in places:
        is_own = types and any(name in own_types[path] for one in types for name in re.findall(r"\w+", one))
        if unnamed and not is_own:
            others = {place[2] for place in places if place[2].with_suffix("") != path.with_suffix("")}
            files |= others and others | {path}
    return files


def main():
    rooms = {path.parent for folder in ("src", "apps") for path in (ROOT / folder).rglob("CMakeLists.txt")}
    files = collections.defaultdict(list)
    for path in sorted({p for room in rooms for p in room.rglob("*") if p.suffix in {".h", ".cpp"}}):
        files[next(folder for folder in path.parents if folder in rooms)].append(path)
    faults = 0
    for room in sorted(files):
        names = names_of(files[room])
        own_types = collections.defaultdict(set)
        for name, places in names.items():
            for unnamed, types, path in places:
                if unnamed and types is None:
                    own_types[path].add(name.rpartition("::")[2])
        for name, places in sorted(names.items()):
            if found := met(places, own_types):
                faults += 1
                print(f"{name} is in an unnamed namespace, and in", *sorted(str(path.relative_to(ROOT)) for path in found))
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
