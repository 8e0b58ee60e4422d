# SPDX-License-Identifier: Apache-2.0
"""What every answer can do beside its fields."""
import json
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, cast

if TYPE_CHECKING:
    from .answers import Levels

# Called with every answer that is made: how the plugin of pytest sees those of a test.
listeners: List[Callable[["Answer"], None]] = []


class Answer:
    """An answer's fields are the keys of its JSON; `json` is that text, byte for byte what the command line prints."""

    @property
    def json(self) -> str:
        """The text of the answer, as `--json` prints it."""
        return cast(str, self.__dict__["_text"])

    @property
    def raw(self) -> Dict[str, Any]:
        """The JSON as it came, with keys that these classes may not know yet."""
        return cast(Dict[str, Any], json.loads(self.json))

    @property
    def passes(self) -> bool:
        """Whether the command line would exit with 0: it fits, may fit, or no GPU was named."""
        return bool(self.__dict__["_code"] == 0)

    def _fullest(self) -> "Levels":
        ranks = getattr(self, "ranks", None)
        if not ranks:
            raise AttributeError(f"{type(self).__name__} has no ranks: it is no answer of one set-up")
        return cast("Levels", max(ranks, key=lambda rank: rank.peak_device_bytes))

    @property
    def peak(self) -> int:
        """Bytes on the device at the peak, per GPU, of the fullest rank: what nvidia-smi shows."""
        return cast(int, getattr(self._fullest(), "peak_device_bytes"))

    @property
    def at_peak(self) -> Mapping[str, int]:
        """Bytes at that peak by category (docs/json.md)."""
        return self._fullest().at_peak

    def to_dict(self) -> Dict[str, Any]:
        """The same as `raw`."""
        return self.raw

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each rank and all figures that are one number or word."""
        import pandas

        rows = [{key: value for key, value in rank.items() if not isinstance(value, (dict, list))}
                | {f"at_peak.{key}": value for key, value in rank.get("at_peak", {}).items()} for rank in self.raw["ranks"]]
        return pandas.DataFrame(rows)

    def text(self) -> str:
        """What the command line prints."""
        return self._shown("text")

    def html(self) -> str:
        """One page with the interactive time line."""
        return self._shown("html")

    def explain(self) -> str:
        """The arithmetic of every number, down to module and shape."""
        return self._shown("explain")

    def _shown(self, form: str) -> str:
        from ._requests import asked

        return asked(self.__dict__["_request"], form)[0]

    def _repr_html_(self) -> Optional[str]:
        if not hasattr(self, "ranks"):
            return None
        from html import escape

        from ._error import Error

        try:
            page = self.html()
        except Error:
            return f"<pre>{escape(self.json)}</pre>"
        return f'<iframe srcdoc="{escape(page, quote=True)}" style="width:100%;height:44em;border:0" sandbox="allow-scripts"></iframe>'

    def plot(self, axes: Any = None) -> Any:
        """A bar of the peak by category (matplotlib), in GiB; returns its axes."""
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.subplots(figsize=(8, 1.6))[1]
        left = 0.0
        for category, held in self.at_peak.items():
            if held:
                axes.barh([0], [held / 2**30], left=left, label=category)
                left += held / 2**30
        device = getattr(self, "device", None)
        if device:
            axes.axvline(device.total_bytes / 2**30, linestyle="--", color="black")
        axes.set_yticks([])
        axes.set_xlabel("GiB")
        axes.legend(fontsize="small", ncol=4, loc="lower left", bbox_to_anchor=(0, 1))
        return axes


class OtherAnswer(Answer):
    """An answer without a class of its own: the keys of its JSON as attributes, what lies below as plain dicts and lists."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"this answer has no {name!r}; it has {', '.join(k for k in self.__dict__ if k[0] != '_')}")

    def __repr__(self) -> str:
        return f"OtherAnswer({self.__dict__.get('command', '')})"


def answer_of(text: str, code: int, request: Mapping[str, Any]) -> Answer:
    """The text of an answer as its class."""
    from . import answers

    fields = json.loads(text)
    command = fields.get("command")
    answer: Answer
    if command == "train" and "question" in fields:
        answer = answers.QuestionAnswer._of(fields)
    elif command == "train":
        answer = answers.TrainAnswer._of(fields)
    elif command == "serve" and "compared" in fields:
        answer = answers.CompareAnswer._of(fields)
    elif command == "serve":
        answer = answers.ServeAnswer._of(fields)
    elif command == "models":
        answer = answers.ModelAnswer._of(fields) if "model" in fields else answers.ModelsAnswer._of(fields)
    elif command == "gpus":
        answer = answers.GpusAnswer._of(fields)
    else:
        answer = OtherAnswer(fields)
    answer.__dict__.update(_text=text, _code=code, _request=request)
    for listener in listeners:
        listener(answer)
    return answer
