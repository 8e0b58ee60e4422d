# SPDX-License-Identifier: Apache-2.0
"""Many requests in one call, on all cores: the library lets other threads run."""
import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Tuple, Union

from ._answer import Answer
from ._error import Error


class Sweep(List[Union[Answer, Error]]):
    """The answers of all combinations, in the order of itertools.product; where one is not possible its memtape.Error."""

    def __init__(self, answers: Sequence[Union[Answer, Error]], options: List[Dict[str, Any]]) -> None:
        super().__init__(answers)
        self.options = options

    @property
    def fitting(self) -> List[Tuple[Dict[str, Any], Answer]]:
        """(options, answer) of those that fit."""
        return [(options, answer) for options, answer in zip(self.options, self) if isinstance(answer, Answer) and answer.passes]

    def rows(self) -> Iterator[Dict[str, Any]]:
        """The options of each with its peak (bytes), whether it fits, and the verdict or what was wrong."""
        for options, answer in zip(self.options, self):
            if isinstance(answer, Error):
                yield {**options, "peak": None, "fits": None, "verdict": str(answer)}
            else:
                yield {**options, "peak": answer.peak, "fits": getattr(answer, "fits"), "verdict": getattr(answer, "verdict")}

    def to_pandas(self) -> Any:
        """The rows as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(list(self.rows()))

    def _repr_html_(self) -> str:
        from html import escape

        def cell(key: str, value: Any) -> str:
            return f"{value / 2**30:.2f} GiB" if key == "peak" and value is not None else escape(str(value))

        rows = list(self.rows())
        head = "".join(f"<th>{escape(str(key))}</th>" for key in rows[0])
        body = "".join("<tr>" + "".join(f"<td>{cell(key, value)}</td>" for key, value in row.items()) + "</tr>" for row in rows)
        return f"<table><tr>{head}</tr>{body}</table>"


def sweep(ask: Callable[[Dict[str, Any]], Answer], varied: Mapping[str, Sequence[Any]]) -> Sweep:
    """Asks for every combination of the values."""
    options = [dict(zip(varied, values)) for values in itertools.product(*varied.values())]

    def one(values: Dict[str, Any]) -> Union[Answer, Error]:
        try:
            return ask(values)
        except Error as error:
            return error

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        answers = list(pool.map(one, options))
    mistakes = [answer for answer in answers if isinstance(answer, Error)]
    if mistakes and len(mistakes) == len(answers):
        raise mistakes[0]
    return Sweep(answers, options)
