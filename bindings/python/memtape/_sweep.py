# SPDX-License-Identifier: Apache-2.0
"""Many requests in one call, on all cores: the library lets other threads run."""
import itertools
import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union, overload

from ._error import Error

A = TypeVar("A")


class Sweep(Sequence[Union[A, Error]]):
    """The answers of all combinations, in the order of itertools.product; where one is not possible its memtape.Error.

    `options[i]` are the values that `self[i]` was asked with.
    """

    def __init__(self, answers: Sequence[Union[A, Error]], options: Sequence[Mapping[str, Any]]) -> None:
        self._answers, self.options = tuple(answers), tuple(options)

    @overload
    def __getitem__(self, at: int) -> Union[A, Error]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Union[A, Error]]: ...
    def __getitem__(self, at: Union[int, slice]) -> Union[A, Error, Sequence[Union[A, Error]]]:
        return self._answers[at]

    def __len__(self) -> int:
        return len(self._answers)

    def __repr__(self) -> str:
        return f"Sweep({len(self)} answers, {len(self.fitting)} fit)"

    @property
    def fitting(self) -> List[Tuple[Mapping[str, Any], A]]:
        """(options, answer) of those that fit, or may fit."""
        return [(options, answer) for options, answer in zip(self.options, self) if not isinstance(answer, Error) and _passes(answer)]

    def rows(self) -> Iterator[Dict[str, Any]]:
        """A row for each: its options, `peak` in bytes, `fits`, `verdict` (or the line of its error)."""
        for options, answer in zip(self.options, self):
            if isinstance(answer, Error):
                yield {**options, "peak": None, "fits": None, "verdict": str(answer)}
            else:
                yield {**options, **{name: getattr(answer, name, None) for name in ("peak", "fits", "verdict")}}

    def to_pandas(self) -> Any:
        """The rows as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(list(self.rows()))

    def _repr_html_(self) -> str:
        from html import escape

        rows = list(self.rows())
        names = list(rows[0]) if rows else []

        def cell(name: str, value: Any) -> str:
            return f"<td>{value / 2**30:.2f} GiB</td>" if name == "peak" and value is not None else f"<td>{escape(str(value))}</td>"

        head = "".join(f"<th>{escape(str(name))}</th>" for name in names)
        body = "".join("<tr>" + "".join(cell(name, value) for name, value in row.items()) + "</tr>" for row in rows)
        return f"<table><tr>{head}</tr>{body}</table>"


def _passes(answer: Any) -> bool:
    return bool(answer.passes)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def sweep(ask: Callable[..., A], model: Any, *held: Any, fixed: Optional[Mapping[str, Any]] = None, threads: Optional[int] = None,
          **options: Any) -> "Sweep[A]":
    """All combinations of the options that are lists, on all cores: memtape.sweep(memtape.train, "Qwen/Qwen3-8B", gpu=["l4", "a10"],
    micro_batch_size=[1, 2, 4]).

    ask: memtape.train or memtape.serve. model may be a list, too. fixed: options that are the same for all, lists among them.
    Where all are impossible, the first memtape.Error is raised.
    """
    from concurrent.futures import ThreadPoolExecutor

    varied: Dict[str, Sequence[Any]] = {name: value for name, value in options.items() if isinstance(value, (list, tuple, range))}
    same = {**(fixed or {}), **{name: value for name, value in options.items() if name not in varied}}
    if isinstance(model, (list, tuple)):
        varied = {"model": model, **varied}
    asked = [dict(zip(varied, values)) for values in itertools.product(*varied.values())]
    if not asked:
        raise Error("nothing to try: a list is empty", "sweep", "at least one value each")

    def one(values: Mapping[str, Any]) -> Union[A, Error]:
        try:
            return ask(**{"model": model, **same, **values}) if not held else ask(values.get("model", model), *held, **{
                **same, **{name: value for name, value in values.items() if name != "model"}})
        except Error as error:
            return error

    with ThreadPoolExecutor(threads or _cores()) as pool:
        answers = list(pool.map(one, asked))
    first = answers[0]
    if isinstance(first, Error) and all(isinstance(answer, Error) for answer in answers):
        raise first
    return Sweep(answers, asked)
