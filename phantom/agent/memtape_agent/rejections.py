# SPDX-License-Identifier: Apache-2.0
"""Initialisers that draw again what fell outside, until nothing does.

torch.nn.init.trunc_normal_ of torch 2.15 asks the device after each round whether anything is left to draw. Nobody knows, and a
truth that is always the same would keep it there for ever: the answer is yes for as many rounds as are expected of so many numbers.
"""
import functools
import math

from .values.answers import answering

_MOST_ROUNDS = 200
_ACCEPTED_ALONE = 0.3  # from this share on torch draws normal numbers, below it uniform ones (torch/nn/init.py)


def end_as_expected(torch):
    real = getattr(torch.nn.init, "_no_grad_trunc_normal_", None)
    if real is None:
        return

    @functools.wraps(real)
    def initialise(tensor, mean, std, a, b, generator=None):
        if not tensor.is_cuda:
            return real(tensor, mean, std, a, b, generator=generator)
        rounds = expected_rounds(tensor.numel(), rejected_share(mean, std, a, b))
        with answering([(1, 1)] * rounds + [(1, 0)]):
            return real(tensor, mean, std, a, b, generator=generator)
    torch.nn.init._no_grad_trunc_normal_ = initialise


def rejected_share(mean, std, a, b):
    """The chance that one number of those drawn lies outside, or is not accepted."""
    inside = (math.erf((b - mean) / (std * math.sqrt(2))) - math.erf((a - mean) / (std * math.sqrt(2)))) / 2
    if inside > _ACCEPTED_ALONE or b <= a:
        return 1 - inside
    nearest = max(a, min(mean, b))
    highest = math.exp(-0.5 * ((nearest - mean) / std) ** 2)
    return 1 - inside * std * math.sqrt(2 * math.pi) / (highest * (b - a)) if highest else 0.0


def expected_rounds(count, share):
    """After how many rounds fewer than one number in two draws of the whole is left."""
    if count * share < 0.5:
        return 0
    if share >= 1:
        return _MOST_ROUNDS
    return min(math.floor(math.log(2 * count) / -math.log(share)), _MOST_ROUNDS)
