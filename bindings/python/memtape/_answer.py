# SPDX-License-Identifier: Apache-2.0
"""What every answer can do beside its fields."""
import json
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Dict, Iterator, List, Mapping, Optional, Tuple, Type, TypeVar

T = TypeVar("T", bound="Read")

_LONGEST_LINE = 118

# Called with every answer that is made: how the plugin of pytest sees those of a test.
listeners: List[Callable[["Answer"], None]] = []
Reader = Callable[[Any], Any]


class Read:
    """A part of an answer, read from JSON. `_nested`: how the fields that hold others are read; `_absent`: fields that may be missing;
    `_renamed`: keys that are words of Python."""

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = ()
    _absent: ClassVar[Mapping[str, None]] = {}
    _renamed: ClassVar[Tuple[Tuple[str, str], ...]] = ()

    @classmethod
    def _of(cls: Type[T], fields: Mapping[str, Any]) -> T:
        made = cls.__new__(cls)
        made._take(fields)
        return made

    def _take(self, fields: Mapping[str, Any]) -> None:
        # Keys that these classes do not know yet stay there as they came.
        held = self.__dict__
        held.update(self._absent)
        held.update(fields)
        for key, name in self._renamed:
            held[name] = held.pop(key)
        for name, read in self._nested:
            if held[name] is not None:
                held[name] = read(held[name])


    def __getitem__(self, key: Any) -> Any:
        """A field by its key in the JSON."""
        if not isinstance(key, str) or key[:1] == "_" or not hasattr(self, key):
            raise KeyError(key)
        return getattr(self, key)

    def __repr__(self) -> str:
        """One short line, whatever it holds."""
        fields = ", ".join(f"{name}={_short(value)}" for name, value in self.__dict__.items() if name[0] != "_")
        line = f"{type(self).__name__}({fields})"
        return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 4] + "...)"


def _short(value: Any) -> str:
    """A value of a field: what is made of others by its number."""
    if isinstance(value, (tuple, list, dict)) and len(value) > 0:
        return f"<{len(value)} of them>"
    return repr(value) if isinstance(value, (str, int, float, bool, type(None))) else type(value).__name__


def each(read: Reader) -> Reader:
    return lambda values: tuple([read(value) for value in values])


def by_name(read: Reader) -> Reader:
    return lambda values: {name: read(value) for name, value in values.items()}


class Answer(Read):
    """An answer's fields are the keys of its JSON, read when the first of them is used."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            text = self.__dict__.get("_unread")
            if text is None or name.startswith("_"):
                raise AttributeError(f"{type(self).__name__} has no field {name!r}")
            self._take(json.loads(text))
            self.__dict__["_unread"] = None
            return getattr(self, name)

    @property
    def json(self) -> str:
        """The text, byte for byte what the command line prints with --json."""
        return str(self.__dict__["_text"])

    @property
    def passes(self) -> bool:
        """Whether the command line would exit with 0: it fits, may fit, or no GPU was named."""
        return bool(self.__dict__["_code"] == 0)

    @property
    def raw(self) -> Dict[str, Any]:
        """The JSON as it came, with keys that these classes may not know yet."""
        read: Dict[str, Any] = json.loads(self.json)
        return read

    def to_dict(self) -> Dict[str, Any]:
        """The same as `raw`."""
        return self.raw

    def text(self) -> str:
        """What the command line prints."""
        return self._shown("text")

    def _shown(self, form: str) -> str:
        from . import _requests

        return _requests.answered(self.__dict__["_request"], form)[0]


class RankAnswer(Answer):
    """An answer with figures of ranks: of train and of serve."""

    if TYPE_CHECKING:

        @property
        def ranks(self) -> Tuple[Any, ...]: ...
        @property
        def device(self) -> Any: ...
        @property
        def model(self) -> Any: ...
        @property
        def workload(self) -> Mapping[str, Any]: ...
        @property
        def verdict(self) -> Optional[str]: ...

    def _fullest(self) -> Any:
        return max(self.ranks, key=lambda rank: int(rank.peak_device_bytes))

    @property
    def peak(self) -> int:
        """Bytes on the device, per GPU, of the fullest rank, as nvidia-smi shows them: the figure that the verdict rests on. Where a
        training fits because cached segments go back, that is what the device then holds; `without_limit` is the other figure."""
        needed = getattr(self, "needed_bytes", None)
        return int(self._fullest().peak_device_bytes if needed is None else needed)

    @property
    def without_limit(self) -> int:
        """Bytes on a device without a limit at the peak of a step, per GPU, of the fullest rank."""
        return int(self._fullest().peak_device_bytes)

    @property
    def at_peak(self) -> Mapping[str, int]:
        """Bytes at that peak by category (docs/json.md)."""
        held: Mapping[str, int] = self._fullest().at_peak
        return held

    def html(self) -> str:
        """One page with the interactive time line."""
        return self._shown("html")

    def explain(self) -> str:
        """The arithmetic of every number, down to module and shape."""
        return self._shown("explain")

    def to_pandas(self) -> Any:
        """A pandas.DataFrame: a row for each group of ranks with all figures that are one number or word, bytes by category beside them."""
        import pandas

        rows: List[Dict[str, Any]] = []
        for rank in self.to_dict()["ranks"]:
            row = {name: value for name, value in rank.items() if not isinstance(value, (dict, list))}
            row.update({f"at_peak.{name}": value for name, value in rank.get("at_peak", {}).items()})
            rows.append(row)
        return pandas.DataFrame(rows)

    def _precision(self) -> Optional[str]:
        """What is computed in. Trainer's "fp32" says only that nothing is cast: the weights' own type decides then."""
        precision, weights = self.workload.get("precision"), self.workload.get("weights")
        if not precision or not weights or weights == precision or precision.startswith("amp-"):
            return precision or self.workload.get("dtype")
        return f"{weights} weights" if precision == "fp32" else f"{precision} over {weights} weights"

    def _taken(self) -> List[str]:
        """What all figures hang on, said or not: the framework or the engine, the batch, the precision."""
        said = self.workload
        batch, tokens = said.get("micro_batch_size"), said.get("sequence_length")
        words = [getattr(self, "engine", None) or said.get("framework"),
                 f"{batch} images" if said.get("task") == "image-classification" else f"{batch} x {tokens} tokens" if batch and tokens else None,
                 self._precision()]
        return [word for word in words if word]

    def __repr__(self) -> str:
        verdict = f", {self.verdict}" if self.verdict else ""
        return f"<{type(self).__name__} {self.model.id} ({', '.join(self._taken())}): {self.peak / 2**30:.2f} GiB on the device{verdict}>"

    def _repr_html_(self) -> str:
        from html import escape

        from ._error import Error

        try:
            page = self.html()
        except Error:  # an answer without a time line: a server's that does not start, a recorded one
            return f"<pre>{escape(self.text())}</pre>"
        return f'<iframe srcdoc="{escape(page)}" style="width:100%;height:44em;border:0" sandbox="allow-scripts"></iframe>'

    def plot(self, axes: Any = None) -> Any:
        """The time line of the step by category with matplotlib, or the bar of the peak where there is none; returns its axes."""
        from ._plot import plot

        return plot(self, axes)


class ListAnswer(Answer):
    """An answer that is a list above all: it has a length, and can be gone through and indexed."""

    _listed: ClassVar[str] = ""

    def __len__(self) -> int:
        return len(getattr(self, self._listed))

    def __iter__(self) -> Iterator[Any]:
        return iter(getattr(self, self._listed))

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key) if isinstance(key, str) else getattr(self, self._listed)[key]

    def __bool__(self) -> bool:
        return True  # an answer, though it may be an empty one

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} {self._listed}>"


class ExplainedAnswer(Answer):
    """The library has no `memtape explain`, since it reads no files, so the program is asked again for other forms."""

    if TYPE_CHECKING:

        @property
        def kind(self) -> str: ...
        @property
        def files(self) -> Tuple[str, ...]: ...

    def text(self) -> str:
        from . import _library

        request = self.__dict__["_request"]
        return _library.run(request["argv"], given=request["given"], as_json=False)[0]

    def __repr__(self) -> str:
        return f"<Explanation: {self.kind} of {', '.join(self.files)}>"[:_LONGEST_LINE]


class OtherAnswer(Answer):
    """An answer without a class of its own: the keys of its JSON as attributes."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    else:

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                there = ", ".join(key for key in self.__dict__ if key[0] != "_")
                raise AttributeError(f"this answer has no {name!r}; it has {there}") from None

    def __repr__(self) -> str:
        return f"OtherAnswer({self.command!r})"


def _kind(text: str) -> Type[Answer]:
    """By the first keys: "schema", then "command", then what tells a question from an answer."""
    from . import answers

    start = text[:400]
    if '"command": "train"' in start:
        return answers.QuestionAnswer if '"question": ' in start else answers.TrainAnswer
    if '"command": "serve"' in start:
        return answers.CompareAnswer if '"compared": ' in start or '"winner": ' in start else answers.ServeAnswer
    if '"command": "models"' in start:
        return answers.ModelAnswer if '"model": ' in start else answers.ModelsAnswer
    if '"command": "gpus"' in start:
        return answers.GpusAnswer
    if '"command": "plan"' in start:
        return answers.PlanAnswer
    return OtherAnswer


def answer_of(text: str, code: int, request: Optional[Mapping[str, Any]] = None, kind: Optional[Type[Answer]] = None) -> Any:
    kind = kind or _kind(text)
    answer = kind.__new__(kind)
    answer.__dict__.update(_text=text, _unread=text, _code=code, _request=request)
    for listener in listeners:
        listener(answer)
    return answer
