# SPDX-License-Identifier: Apache-2.0
"""A budget of GPU memory as a test:

    @pytest.mark.gpu_budget("22GiB")
    def test_fine_tuning():
        memtape.train("Qwen/Qwen3-8B", lora_rank=16, lora_targets="all-linear")

The test fails where any prediction that it makes needs more, or where it makes none.
"""
from typing import Any, Generator, List

import pytest

from ._answer import Answer, RankAnswer, listeners
from ._error import Error
from ._units import bytes_of


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", "gpu_budget(limit): the predictions made in this test need no more GPU memory, as in '22GiB'")


def _too_much(answer: RankAnswer, limit: int) -> str:
    parts = ", ".join(f"{category} {held / 2**30:.2f}" for category, held in answer.at_peak.items() if held)
    return f"gpu_budget: {answer.to_dict()['model']['id']} needs {answer.peak / 2**30:.2f} GiB of {limit / 2**30:.2f} GiB ({parts})"


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> Generator[None, Any, Any]:
    mark = pyfuncitem.get_closest_marker("gpu_budget")
    if mark is None:
        return (yield)
    try:
        limit = bytes_of(*mark.args)
    except (Error, TypeError) as error:
        pytest.fail(f"gpu_budget: {error}", pytrace=False)
    made: List[Answer] = []
    listeners.append(made.append)
    try:
        result = yield
    finally:
        listeners.remove(made.append)
    predicted = [answer for answer in made if isinstance(answer, RankAnswer)]
    if not predicted:
        pytest.fail("gpu_budget: the test made no prediction", pytrace=False)
    worst = max(predicted, key=lambda answer: answer.peak)
    if worst.peak > limit:
        pytest.fail(_too_much(worst, limit), pytrace=False)
    return result
