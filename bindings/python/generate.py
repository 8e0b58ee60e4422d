#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the package's answers, option names and signatures from the schema of answers and the option tables.

  generate.py BUILD/libmemtape.so [--check]   memtape/answers.py, memtape/options.py, memtape/functions.pyi
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
         "model": "ModelAnswer", "gpus": "GpusAnswer", "plan": "PlanAnswer", "explain": "Explanation"}
BASES = {"TrainAnswer": "RankAnswer", "ServeAnswer": "RankAnswer", "ModelsAnswer": "ListAnswer", "GpusAnswer": "ListAnswer",
         "PlanAnswer": "ListAnswer", "Explanation": "ExplainedAnswer"}
MARK = "# SPDX-License-Identifier: Apache-2.0\n# Made by bindings/python/generate.py: do not edit.\n"
SCALARS = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}


def camel(name):
    return "".join(part.capitalize() for part in re.split(r"[^a-zA-Z0-9]", name) if part)


def singular(key):
    return key[:-1] if key.endswith("s") and not key.endswith("ss") else key


def optional(annotation):
    return annotation if annotation.startswith("Optional[") or annotation == "Any" else f"Optional[{annotation}]"


class Classes:
    """The dataclasses of a schema, each after those that it holds. A type is (annotation, how it is read from JSON or None)."""

    def __init__(self, schema):
        self.defs, self.done, self.texts, self.names = schema["$defs"], {}, [], set()

    def type_of(self, spec, name):
        if "$ref" in spec:
            key = spec["$ref"].rsplit("/", 1)[1]
            return self.type_of(self.defs[key], NAMES.get(key, camel(key)))
        if "anyOf" in spec:
            rest = [choice for choice in spec["anyOf"] if choice != {"type": "null"}]
            kind, read = self.type_of(rest[0], name) if len(rest) == 1 else ("Any", None)
            return (optional(kind) if len(rest) < len(spec["anyOf"]) else kind), read
        kind = spec.get("type")
        if isinstance(kind, list):
            rest = [one for one in kind if one != "null"]
            inner, read = self.type_of({**spec, "type": rest[0]}, name) if len(rest) == 1 else ("Any", None)
            return (optional(inner) if "null" in kind else inner), read
        if kind == "object" or "properties" in spec:
            return self.object(spec, name)
        if kind == "array":
            inner, read = self.type_of(spec.get("items", {}), name)
            return f"Tuple[{inner}, ...]", f"each({read})" if read else "tuple"
        if "enum" in spec or "const" in spec:
            values = spec.get("enum", [spec.get("const")])
            return ("Optional[str]" if None in values else "str"), None
        return SCALARS.get(kind, "Any"), None

    def object(self, spec, name):
        if not spec.get("properties"):
            extra = spec.get("additionalProperties")
            inner, read = self.type_of(extra, name) if isinstance(extra, dict) else ("Any", None)
            return f"Mapping[str, {inner}]", f"by_name({read})" if read else None
        if id(spec) not in self.done:
            while name in self.names:
                name += "_"
            self.names.add(name)
            self.done[id(spec)] = name
            self.texts.append(self.text(spec, name))
        return self.done[id(spec)], self.done[id(spec)] + "._of"

    def text(self, spec, name):
        required, fields, nested, renamed = set(spec.get("required", ())), [], [], []
        absent = [key for key in spec["properties"] if key not in required]
        for key, of in spec["properties"].items():
            if not key.isidentifier():
                sys.exit(f"{name}: {key!r} cannot be the name of a field")
            kind, read = self.type_of(of, name.replace("Answer", "") + camel(singular(key)))
            if keyword.iskeyword(key):
                renamed.append(f'("{key}", "{key}_"),')
                key += "_"
            fields.append(f"    {key}: {kind if key.rstrip('_') in required else optional(kind)}")
            if read:
                nested.append(f'        ("{key}", {read}),')
        base = BASES.get(name, "Answer") if name in NAMES.values() else "Read"
        note = spec.get("description") or ("The answer" if base != "Read" else "A part of an answer") + " (docs/json.md)."
        lines = [f"@dataclass(frozen=True, repr=False)\nclass {name}({base}):", f'    """{note}"""\n', *fields]
        if base == "ListAnswer":
            lines += ["", f'    _listed: ClassVar[str] = "{next(key for key in spec["properties"] if spec["properties"][key].get("type") == "array")}"']
        if nested or absent or renamed:
            lines.append("")
        if nested:
            lines += ["    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (", *nested, "    )"]
        if renamed:
            lines.append("    _renamed: ClassVar[Tuple[Tuple[str, str], ...]] = (" + " ".join(renamed) + ")")
        if absent:
            lines.append("    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys((" + ", ".join(f'"{key}"' for key in absent) + ",))")
        return "\n".join([*lines, ""])


def answers_file(schema):
    classes = Classes(schema)
    for key, name in NAMES.items():
        classes.type_of(schema["$defs"][key], name)
    return (MARK + '"""Answers as frozen dataclasses. Field names are the keys of the JSON (docs/json.md); what ends in _bytes is a whole number\n'
            'of bytes, per GPU; what need not be there is None then."""\nfrom dataclasses import dataclass\n'
            "from typing import Any, ClassVar, Mapping, Optional, Tuple\n\n"
            "from ._answer import Answer, ExplainedAnswer, ListAnswer, RankAnswer, Read, Reader, by_name, each\n\n\n" + "\n\n".join(classes.texts))


def options_of(library):
    native = ctypes.CDLL(str(pathlib.Path(library).resolve()))
    native.memtape_answer.restype = ctypes.c_void_p
    return json.loads(ctypes.string_at(native.memtape_answer(b'{"argv": ["options"]}', None)))


def name_of(option):
    return option["name"].replace("-", "_")


class Tables:
    """The options of each command, by their names in Python."""

    def __init__(self, tables):
        serve = tables["serve"]
        self.train = self.named(tables["train"]["options"] + [o for o in tables["train"]["answer"] if o["name"] == "rules"])
        self.serve = self.named([*serve["options"], *(flag for engine in serve["engines"] for flag in engine["options"])])
        self.plan_train = self.named(tables["plan"]["train"])
        self.plan_serve = self.named(tables["plan"]["serve"])
        self.arguments = sorted(tables["train"]["training_arguments"])
        self.packages = tables["packages"]

    @staticmethod
    def named(options):
        found = {}
        for option in options:
            if name_of(option).isidentifier():
                found.setdefault(name_of(option), option)
        return found


def takes_list(option):
    return bool(option.get("repeatable")) or "," in option["value"].split("|")[0] and not option["value"].startswith("{")


def dictionary(name, options, note):
    rows = [f"    {json.dumps(key)}: {json.dumps(text, ensure_ascii=False)},\n" for key, text in sorted(options.items())]
    return f"# {note}\n{name}: Dict[str, str] = {{\n{''.join(rows)}}}\n"


def help_of(option):
    default = option.get("default")
    return f"{option['help']} ({default})" if default else option["help"]


def texts(options):
    return {key: " ".join(part for part in (option["value"], help_of(option)) if part) for key, option in options.items()}


def options_file(tables):
    lists = sorted(key for key, option in {**tables.serve, **tables.train}.items() if takes_list(option))
    names = lambda title, values: f"{title} = frozenset(\n    {json.dumps(sorted(values), indent=8)[:-1].rstrip()}\n    ]\n)\n"
    return "\n".join([
        MARK + '"""Options as Python spells them, with the values they take and what they mean."""\nfrom typing import Dict\n',
        dictionary("TRAIN", texts(tables.train), "of memtape.train"), dictionary("SERVE", texts(tables.serve), "of memtape.serve"),
        dictionary("PLAN_TRAIN", texts(tables.plan_train), "of memtape.plan_train"),
        dictionary("PLAN_SERVE", texts(tables.plan_serve), "of memtape.plan_serve"),
        "# Arguments of transformers' and trl's trainers, with framework=\"transformers\".", names("TRAINING_ARGUMENTS", tables.arguments),
        "# Options whose value may be a list.", names("LISTS", lists),
        "# Packages whose releases memory depends on.", names("PACKAGES", tables.packages)])


def literal(words):
    """Words as a type; what is a number or a truth value may be said as one, too."""
    numbers = [word for word in words if re.fullmatch(r"-?[0-9]+", word)]
    kind = "Literal[" + ", ".join([*(json.dumps(word) for word in words), *numbers]) + "]"
    return f"Union[bool, {kind}]" if set(words) == {"true", "false"} else kind


def value_type(option):
    """The type of one value, from the kind, the choices and the form that the table gives the option."""
    value, word = option["value"], option.get("word")
    if option["kind"] == "switch" or option["kind"] == "truth" and not option.get("choices"):
        return "bool"
    if option.get("choices") and "..." not in value:
        return literal(option["choices"])
    if "JSON" in value:
        return "Any"  # an object of any library that says the same
    if "FILE" in value or value in ("PATH", "DIR"):
        return 'Union[str, "os.PathLike[str]"]'
    if option["kind"] in ("whole", "real"):
        number = "int" if option["kind"] == "whole" else "float"
        others = ["str"] if option.get("unit") else [literal([word])] if word else []
        return f"Union[{', '.join([number, *others])}]" if others else number
    return {"N": "Union[int, str]", "X": "Union[float, str]"}.get(value, "str")


def annotation(option, listed):
    one = value_type(option)
    if one == "bool" or one == "Any":
        return one
    if takes_list(option):
        return f"Union[{one}, float, Sequence[Union[{one}, float]]]" if one == "str" else f"Union[{one}, Sequence[{one}]]"
    return f"Union[{one}, Sequence[{one}]]" if listed else one


QUESTIONS = {"train": ("solve", "grid", "compare"), "serve": ("compare", "solve")}
HEAD = ["    model: Any,", "    *held: Any,", "    config: Union[None, str, Mapping[str, Any], Any] = ...,",
        "    files: Optional[Mapping[str, Any]] = ...,", "    releases: Optional[str] = ...,"]
NOT_OPTIONS = ("config", "files", "model")


def options_class(name, options, base="TypedDict", listed=False, more=()):
    """The keywords of a function, each with what it means."""
    lines = [f"class {name}({base}, total=False):"]
    for key, option in options.items():
        if key not in NOT_OPTIONS:
            python = key + "_" if keyword.iskeyword(key) else key
            lines.append(f"    {python}: Optional[{annotation(option, listed)}]  # {help_of(option)}")
    return "\n".join([*lines, *more] if len(lines) + len(more) > 1 else [*lines, "    pass"]) + "\n"


def function(name, result, options, more=(), overloaded=True):
    return "\n".join([*(["@overload"] if overloaded else []), f"def {name}(", *HEAD, *more, f"    **options: Unpack[{options}],",
                      f") -> {result}: ...", ""])


def asked(name, options, result):
    """The overloads for the options that ask something else, which are then required."""
    return [function(name, result, f"{name.capitalize()}Options", [f"    {key}: {value_type(options[key])},"]) for key in QUESTIONS[name]
            if key in options]


def stub_file(tables):
    arguments = [f"    {name}: Any" for name in tables.arguments if name not in tables.train and name.isidentifier()
                 and not keyword.iskeyword(name)]
    without = lambda options, *names: {key: option for key, option in options.items() if key not in names}
    gpu = {"gpu": tables.train["gpu"]}
    parts = [
        MARK + "import os\nfrom typing import Any, Literal, Mapping, Optional, Sequence, TypedDict, Union, overload\n\n"
        "from typing_extensions import Unpack\n\n"
        "from .answers import CompareAnswer, GpusAnswer, ModelAnswer, ModelsAnswer, PlanAnswer, QuestionAnswer, ServeAnswer, TrainAnswer\n",
        options_class("TrainWithoutGpu", without(tables.train, "gpu", *QUESTIONS["train"]), more=arguments),
        options_class("TrainOptions", gpu, "TrainWithoutGpu"),
        options_class("ServeWithoutEngine", without(tables.serve, "gpu", "engine", *QUESTIONS["serve"])),
        options_class("ServeOptions", {"engine": tables.serve["engine"], **gpu}, "ServeWithoutEngine"),
        options_class("PlanTrainOptions", tables.plan_train, listed=True, more=arguments),
        options_class("PlanServeOptions", {**gpu, "gpus": tables.train["gpus"], **tables.plan_serve}, listed=True),
        function("train", "TrainAnswer", "TrainOptions"), *asked("train", tables.train, "QuestionAnswer"),
        function("serve", "ServeAnswer", "ServeOptions"), *asked("serve", tables.serve, "CompareAnswer"),
        function("plan_train", "PlanAnswer", "PlanTrainOptions", overloaded=False),
        function("plan_serve", "PlanAnswer", "PlanServeOptions", overloaded=False),
        "@overload\ndef fits(model: Any, gpu: str, *held: Any, **options: Unpack[TrainWithoutGpu]) -> bool: ...\n"
        "@overload\ndef fits(model: Any, gpu: str, *held: Any, engine: str, **options: Unpack[ServeWithoutEngine]) -> bool: ...\n"
        "def launch(\n    command: Union[str, Sequence[str]],\n    *,\n    releases: Optional[str] = ...,\n"
        "    **options: Unpack[TrainOptions],\n) -> Any: ...\n"
        "def models() -> ModelsAnswer: ...\ndef model(name: str) -> ModelAnswer: ...\ndef gpus(id: Optional[str] = ...) -> GpusAnswer: ...\n"
        "def ask(request: Mapping[str, Any]) -> Any: ...\n"]
    return "\n".join(parts)


def main():
    tables, check = Tables(options_of(sys.argv[1])), "--check" in sys.argv
    package = HERE / "memtape"
    made = {"answers.py": answers_file(json.loads(SCHEMA.read_text())), "options.py": options_file(tables), "functions.pyi": stub_file(tables)}
    stale = [name for name, text in made.items() if not (package / name).exists() or (package / name).read_text() != text]
    for name in [] if check else stale:
        (package / name).write_text(made[name])
    print(f"{len(made)} files, {len(stale)} {'stale: bindings/python/generate.py makes them' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
