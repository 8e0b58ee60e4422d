#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people type instead of what they should: misspelt options, other values, options left out, given twice or added, and files
with lines that are wrong. Every function takes the random numbers as its first argument."""
import re

NUMBERS = ["1", "2", "3", "4", "6", "8", "12", "16", "32", "64", "100", "128", "512", "1000", "1024", "2048", "4096", "8192"]
ODD = ["0", "-1", "1.5", "", "abc", "1e9", "99999999999999999999", "8k", "none", "true", "null", "{}", "[1", "10GiB", "a,b", "a=b", "é"]
SHARES = ["0", "0.05", "0.1", "0.5", "0.9", "0.95", "1", "1.5", "2"]


def is_option(word):
    return len(word) > 2 and word.startswith("--")


def split_launch(words):
    """What stands before the -- of a launch command, and the rest with it."""
    at = words.index("--") if "--" in words else len(words)
    return list(words[:at]), list(words[at:])


def pairs(words):
    """The options of a command with their values; None behind a switch."""
    found, words = [], split_launch(words)[0]
    for at, word in enumerate(words):
        if is_option(word):
            name, equals, value = word[2:].partition("=")
            follows = at + 1 < len(words) and not is_option(words[at + 1])
            found.append((name, value if equals else words[at + 1] if follows else None))
    return found


def misspelt(draw, word):
    """The word with one letter left out, doubled, exchanged with the next, or another."""
    at = draw.randrange(2 if is_option(word) else 0, max(len(word), 3))
    kind = draw.randrange(4)
    middle = ["", word[at : at + 1] * 2, word[at + 1 : at + 2] + word[at : at + 1], draw.choice("abcdeilnoprst-_")][kind]
    return word[:at] + middle + word[at + (2 if kind == 2 else 1) :]


def other_number(draw, word):
    """The word with one of its numbers changed; another value where it has none."""
    numbers = list(re.finditer(r"\d+", word))
    if not numbers:
        return draw.choice(ODD)
    number = draw.choice(numbers)
    value = int(number[0])
    other = draw.choice([1, value + 1, value * 2, value * 2, max(value // 2, 1), max(value // 2, 1), draw.choice([0, value * 1000])])
    return word[: number.start()] + str(other) + word[number.end() :]


def varied_words(draw, words, value_of, added, careful):
    """The words of a command with one thing changed. `value_of(name)`: a value to try; `added()`: an option and its value. A careful
    change is one to another value, or an option more or less."""
    front, launch = split_launch(words)
    options = [at for at, word in enumerate(front) if is_option(word)]
    kind = draw.choice([0, 2, 6, 6, 6]) if careful else draw.randrange(8)
    if kind == 0 or not options:
        return [*front, *added(), *launch]
    at = draw.choice(options)
    has_value = at + 1 < len(front) and not is_option(front[at + 1])
    name = front[at][2:].partition("=")[0]
    if kind == 1:
        front[at] = misspelt(draw, front[at])
    elif kind == 2:
        del front[at : at + 1 + has_value]
    elif kind == 3 and has_value:
        del front[at + 1]
    elif kind == 4:
        front += [f"--{name}", value_of(name)]
    elif kind == 5:
        front[at] = "--" + name.replace("_", "-") if "_" in name else "--" + name.replace("-", "_")
    elif has_value:
        front[at + 1] = value_of(name) if draw.random() < 0.5 or not re.search(r"\d", front[at + 1]) else other_number(draw, front[at + 1])
    return front + launch


def varied_launch(draw, words):
    """The launch command of these words with one of its own words changed."""
    front, launch = split_launch(words)
    options = [at for at, word in enumerate(launch) if at > 0]
    if not options:
        return words
    at = draw.choice(options)
    kind = draw.randrange(5)
    if kind == 0:
        launch[at] = misspelt(draw, launch[at])
    elif kind == 1:
        del launch[at]
    elif kind == 2:
        launch.insert(at, launch[at])
    else:
        numbers = [i for i in options if re.search(r"\d", launch[i])] or [at]
        at = draw.choice(numbers)
        launch[at] = other_number(draw, launch[at])
    return front + launch


def varied_text(draw, text):
    """A file with one line changed."""
    lines = text.splitlines()
    if not lines:
        return draw.choice(ODD)
    at = draw.randrange(len(lines))
    kind = draw.randrange(5)
    if kind == 0:
        del lines[at]
    elif kind == 1 and lines[at].strip():
        lines[at] = misspelt(draw, lines[at])
    elif kind == 2:
        lines.insert(at, lines[at])
    else:
        at = draw.choice([i for i, line in enumerate(lines) if re.search(r"\d", line)] or [at])
        lines[at] = other_number(draw, lines[at])
    return "\n".join(lines) + "\n"
