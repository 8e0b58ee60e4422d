#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/options.md, made of the program's own tables.

    options_page.py PROGRAM [--check]
"""
import json
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "options.md"

HEAD = """<!-- Made by scripts/options_page.py: do not edit. -->
# Options

What each command takes, as `memtape COMMAND --help` shows it. `-` and `_` are alike in names; a
default stands in parentheses behind what the option does. How answers look is said by `--json`,
`--quiet` and `--explain` everywhere. `memtape COMMAND --help --json` prints the same as data: each
option's names, kind, range or choices, default, group, source, and which options it decides. What an
option mirrors is a file or an API of its framework; where none is named, it is memtape's own.
"""

ARGUMENTS = """
## Arguments of `--framework transformers`

`train` takes transformers' TrainingArguments, and the fields of trl's configurations, by their own
names: they mirror `transformers/training_args.py`, `trl/trainer/*_config.py` and
`trl/experimental/*/*_config.py`, except where another place is named. An argument that says what one
of memtape's options says may stand beside it as long as both say the same.
"""

COLUMNS = "| argument | value | default | says what | mirrors |\n|---|---|---|---|---|\n"
KINDS = {"text": "text", "switch": "text", "truth": "true or false", "whole": "a whole number", "real": "a number"}


def code(text):
    return f"`{text}`" if text else ""


def cell(text):
    return text.replace("|", "\\|")


def usage(command):
    names = [operand["name"] + ("..." if operand["repeatable"] else "") for operand in command["operands"]]
    words = [name if operand["required"] else f"[{name}]" for name, operand in zip(names, command["operands"])]
    return " ".join(["memtape", command["of"], "[options]", *words])


def row_of_option(option, unsaid):
    left = " ".join([*option["spellings"], *filter(None, [option["value"]])])
    default = f" ({option['default']})" if "default" in option else ""
    mirrored = f"; mirrors `{option['source']}`" if option["source"] not in unsaid else ""
    return f"| `{cell(left)}` | {cell(option['help'] + default)}{mirrored} |\n"


def table_of(options, unsaid):
    """The options that are shown, group by group; `unsaid`: sources that go without saying."""
    shown = [option for option in options if option["help"]]
    text = ""
    for group in dict.fromkeys(option["group"] for option in shown):
        text += f"\n**{group or 'Options'}**\n\n| option | what it does |\n|---|---|\n"
        text += "".join(row_of_option(option, unsaid) for option in shown if option["group"] == group)
    return text


def page_of_command(command, of_train, unsaid):
    """Train's options stand under `train` alone."""
    options = [option for option in command["options"] if command["of"] == "train" or option not in of_train]
    rest = "" if len(options) == len(command["options"]) else "\nAnd options of `train`.\n"
    return f"\n## `{usage(command)}`\n\n{command['summary']}\n{table_of(options, unsaid)}{rest}"


def page_of_engine(engine, unsaid):
    head = f"\n### `--engine {engine['name']}`\n\n{engine['summary']}: flags of `{engine['source']}`\n"
    return head + table_of(engine["options"], unsaid)


def value_of(argument):
    kind = "`" + "`, `".join(argument["choices"]) + "`" if argument["kind"] == "choice" else KINDS[argument["kind"]]
    return f"{kind}, or `{argument['word']}`" if "word" in argument else kind


def default_of(argument):
    """"`adamw_torch_fused`; before torch 2.8 `adamw_torch`"."""
    earlier = [f"before {one['package']} {one['before']} {code(one['default'])}" for one in argument["earlier"]]
    return "; ".join([code(argument.get("default", "")), *earlier])


def row_of_argument(argument):
    mirrors = "" if argument["mirrors"] == "transformers/training_args.py" else argument["mirrors"]
    spelling = " ".join(argument["spellings"])[2:]
    says = code(" ".join("--" + name.removeprefix("--") for name in argument.get("sets", [])))
    return f"| `{spelling}` | {value_of(argument)} | {default_of(argument)} | {says} | {code(mirrors)} |\n"


def tables_of(arguments):
    """Those with an effect first; the others behind them, in the same columns."""
    text = ""
    for has_effect, head in ((True, ""), (False, "Without effect:\n\n")):
        rows = [row_of_argument(argument) for argument in arguments if argument["has_effect"] == has_effect]
        text += f"\n{head}{COLUMNS}{''.join(rows)}" if rows else ""
    return text


def page(tables):
    of_train = next(command for command in tables["commands"] if command["of"] == "train")["options"]
    of_train = [option for option in of_train if option["name"] != "help" and option["group"] != "Answer"]
    unsaid = {"memtape", *(engine["source"] for engine in tables["engines"])}
    text = HEAD
    for command in tables["commands"]:
        text += page_of_command(command, of_train, unsaid)
        if command["of"] == "serve":
            text += "".join(page_of_engine(engine, unsaid) for engine in tables["engines"])
    text += ARGUMENTS + tables_of(tables["training_arguments"])
    for config in tables["trl"]:
        text += f"\n### {config['name']} (`--trainer {config['trainer']}`)\n{tables_of(config['fields'])}"
    return text


def main():
    told = subprocess.run([sys.argv[1], "__options"], capture_output=True, text=True, check=True).stdout
    made = page(json.loads(told))
    if PAGE.exists() and PAGE.read_text() == made:
        return 0
    if "--check" in sys.argv:
        print("docs/options.md is not what the program says: scripts/options_page.py PROGRAM makes it")
        return 1
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
