#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the package's answers and option names from the schema of answers and the option tables.

  generate.py BUILD/memtape-or-libmemtape.so [--check]   memtape/answers.py, memtape/options.py, memtape/functions.pyi
"""
import ctypes
import json
import keyword
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
SCHEMA = HERE.parent.parent / "docs" / "memtape-1.schema.json"
NAMES = {"train": "TrainAnswer", "train_question": "QuestionAnswer", "serve": "ServeAnswer", "compare": "CompareAnswer", "models": "ModelsAnswer",
         "model": "ModelAnswer", "gpus": "GpusAnswer"}
MARK = "# SPDX-License-Identifier: Apache-2.0\n# Made by bindings/python/generate.py: do not edit.\n"


def camel(name):
    return "".join(part.capitalize() for part in re.split(r"[^a-zA-Z0-9]", name) if part)


class Classes:
    """The dataclasses of a schema, each after those that it holds."""

    def __init__(self, schema):
        self.defs, self.done, self.texts, self.names = schema["$defs"], {}, [], set()

    def type_of(self, spec, name):
        """(annotation, how a value is read, as code over {v})"""
        if "$ref" in spec:
            key = spec["$ref"].rsplit("/", 1)[1]
            return self.type_of(self.defs[key], NAMES.get(key, camel(key)))
        options = spec.get("anyOf")
        if options:
            rest = [option for option in options if option != {"type": "null"}]
            kind, read = self.type_of(rest[0], name)
            if len(rest) == len(options):
                return kind, read
            return f"Optional[{kind}]", self.optional(read)
        kind = spec.get("type")
        if isinstance(kind, list):
            rest = [one for one in kind if one != "null"]
            inner, read = self.type_of({**spec, "type": rest[0]}, name)
            return (f"Optional[{inner}]", self.optional(read)) if "null" in kind else (inner, read)
        if kind == "object" or "properties" in spec:
            return self.object(spec, name)
        if kind == "array":
            inner, read = self.type_of(spec.get("items", {}), name)
            code = "tuple({v})" if read == "{v}" else "tuple([" + read.replace("{v}", "i") + " for i in {v}])"
            return f"Tuple[{inner}, ...]", code
        if "enum" in spec or "const" in spec:
            values = spec.get("enum", [spec.get("const")])
            return ("Optional[str]" if None in values else "str"), "{v}"
        return {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}.get(kind, "Any"), "{v}"

    @staticmethod
    def optional(read):
        return read if read == "{v}" else f"(None if {{v}} is None else {read})"

    def object(self, spec, name):
        properties = spec.get("properties")
        if not properties:
            extra = spec.get("additionalProperties")
            if not isinstance(extra, dict):
                return "Mapping[str, Any]", "{v}"
            inner, read = self.type_of(extra, name + "Item")
            return f"Mapping[str, {inner}]", "{v}" if read == "{v}" else "{{k: " + read.replace("{v}", "x") + " for k, x in {v}.items()}}"
        if id(spec) not in self.done:
            while name in self.names:
                name += "_"
            self.names.add(name)
            self.done[id(spec)] = name
            self.texts.append(self.text(spec, name))
        return self.done[id(spec)], self.done[id(spec)] + "._of({v})"

    def text(self, spec, name):
        required = set(spec.get("required", ()))
        fields, reads = [], []
        singular = lambda key: key[:-1] if key.endswith("s") and not key.endswith("ss") else key
        for key in sorted(spec["properties"], key=lambda k: k not in required):
            field = key + "_" if keyword.iskeyword(key) else key
            kind, read = self.type_of(spec["properties"][key], name.replace("Answer", "") + camel(singular(key)))
            if key in required:
                fields.append(f"    {field}: {kind}")
                reads.append(f'            {field}={read.replace("{v}", repr_key(key)).replace("{{", "{").replace("}}", "}")},')
            else:
                optional = kind if kind.startswith("Optional[") else f"Optional[{kind}]"
                fields.append(f"    {field}: {optional} = None")
                if read == "{v}":
                    code = f'd.get("{key}")'
                else:
                    there = read.replace("{v}", repr_key(key)).replace("{{", "{").replace("}}", "}")
                    code = f'None if d.get("{key}") is None else {there}'
                reads.append(f"            {field}={code},")
        base = "(Answer)" if name in NAMES.values() else ""
        note = spec.get("description") or f"An entry of the answers' JSON (docs/json.md): {name}."
        return "\n".join([f"@dataclass(frozen=True)\nclass {name}{base}:", f'    """{note}"""\n', *fields, "",
                          "    @classmethod", f'    def _of(cls, d: Mapping[str, Any]) -> "{name}":', "        return cls(", *reads,
                          "        )", ""])


def repr_key(key):
    return f'd["{key}"]'


def answers_file(schema):
    classes = Classes(schema)
    for key, name in NAMES.items():
        classes.type_of(schema["$defs"][key], name)
    return (MARK + '"""Answers as frozen dataclasses. Field names are the keys of the JSON (docs/json.md); every *_bytes is a whole number of\n'
            'bytes, per GPU."""\nfrom dataclasses import dataclass\nfrom typing import Any, Mapping, Optional, Tuple\n\n'
            "from ._answer import Answer\n\n\n" + "\n\n".join(classes.texts))


def options_of(library):
    native = ctypes.CDLL(str(library))
    native.memtape_answer.restype = ctypes.c_void_p
    return json.loads(ctypes.string_at(native.memtape_answer(b'{"argv": ["options"]}', None)))


def is_list(option):
    return option.get("repeatable") or "," in option["value"].split("|")[0] and not option["value"].startswith("{")


def options_file(tables):
    train, serve = tables["train"], tables["serve"]
    every = list(serve["options"]) + [flag for engine in serve["engines"] for flag in engine["options"]]
    lists = sorted({name_of(option) for option in train["options"] if is_list(option)}
                   | {name_of(flag) for flag in every if is_list(flag)})
    names = lambda options: sorted({name_of(option) for option in options})
    lines = [MARK + '"""Names of options, as Python spells them."""\n']
    for title, values in (("TRAIN", names(train["options"])), ("TRAINING_ARGUMENTS", sorted(train["training_arguments"])),
                          ("SERVE", names(every)), ("LISTS", lists)):
        lines.append(f"{title} = frozenset(\n    " + json.dumps(values, indent=8)[:-1].rstrip() + "\n    ]\n)\n")
    return "\n".join(lines).replace("frozenset(\n    [", "frozenset(\n    [")


def name_of(option):
    return option["name"].replace("-", "_")


def annotation(option):
    value = option["value"]
    if not value:
        return "bool"
    if value == "N":
        return "Union[int, str]"
    if is_list(option):
        return "Union[str, Sequence[str]]"
    if "JSON" in value:
        return "Union[str, Mapping[str, Any], Any]"
    return "Union[str, int, float]"


# Options that ask for more than one answer, and what keywords are made of.
MANY = ("solve", "grid", "compare")


def parameters(options):
    """One keyword for each option, with its help behind it."""
    lines, seen = [], set()
    for option in options:
        name = name_of(option)
        if name in seen or keyword.iskeyword(name) or not name.isidentifier():
            continue
        seen.add(name)
        kind = "None" if name in MANY else f"Optional[{annotation(option)}]"
        lines.append(f"    {name}: {kind} = ...,  # {option['help']}")
    return lines


def signature(name, options, result):
    """The answer to one question; whatever asks for many is a Sweep, or what the question says."""
    common = ["    config: Union[str, Mapping[str, Any], None] = ...,", "    files: Optional[Mapping[str, Any]] = ...,",
              "    releases: Optional[str] = ...,"]
    one = ["@overload", f"def {name}(", "    model: Any,", "    *held: Any,", *common, *parameters(options), "    **options: Any,",
           f") -> {result}: ..."]
    many = ["@overload", f"def {name}(model: Any, *held: Any, **options: Any) -> Any: ...", ""]
    return "\n".join([*one, *many])


def stub_file(tables):
    every = list(tables["serve"]["options"]) + [flag for engine in tables["serve"]["engines"] for flag in engine["options"]]
    plans = lambda name, options: "\n".join([f"def {name}(", "    model: Any,", "    *held: Any,", *parameters(options), "    **options: Any,",
                                             ") -> OtherAnswer: ...", ""])
    return (MARK + "from typing import Any, Mapping, Optional, Sequence, Union, overload\n\nfrom ._answer import Answer, OtherAnswer\n"
            "from .answers import GpusAnswer, ModelAnswer, ModelsAnswer, ServeAnswer, TrainAnswer\n\n"
            + signature("train", tables["train"]["options"], "TrainAnswer") + "\n" + signature("serve", every, "ServeAnswer") + "\n"
            + plans("plan_train", tables["plan"]["train"]) + "\n" + plans("plan_serve", tables["plan"]["serve"])
            + "\ndef fits(model: Any, gpu: str, *held: Any, **options: Any) -> bool: ...\n"
            "def launch(command: Union[str, Sequence[str]], *, releases: Optional[str] = ..., **options: Any) -> Any: ...\n"
            "def models() -> ModelsAnswer: ...\ndef model(name: str) -> ModelAnswer: ...\ndef gpus(id: Optional[str] = ...) -> GpusAnswer: ...\n"
            "def ask(request: Mapping[str, Any]) -> Answer: ...\n")


def main():
    tables, check = options_of(sys.argv[1]), "--check" in sys.argv
    package = HERE / "memtape"
    made = {"answers.py": answers_file(json.loads(SCHEMA.read_text())), "options.py": options_file(tables), "functions.pyi": stub_file(tables)}
    stale = [name for name, text in made.items() if not (package / name).exists() or (package / name).read_text() != text]
    for name in [] if check else stale:
        (package / name).write_text(made[name])
    print(f"{len(made)} files, {len(stale)} {'stale: bindings/python/generate.py makes them' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
