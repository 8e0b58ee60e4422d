# SPDX-License-Identifier: Apache-2.0
"""What a module's own tensors take."""
from typing import Any, Dict, NamedTuple


class Weights(NamedTuple):
    """Tensors of a module, those that are shared counted once: elements of parameters, bytes of parameters, of those that are trained,
    and of buffers."""

    parameters: int
    parameter_bytes: int
    trainable_bytes: int
    buffer_bytes: int


def weights(module: Any) -> Weights:
    """Counts an nn.Module as it is, on the meta device or any other: exact, since nothing is predicted."""
    seen: Dict[int, Any] = {}  # the tensors themselves, so that no other takes an id over
    elements = held = trained = buffers = 0
    for tensor in module.parameters():
        if id(tensor) in seen:
            continue
        seen[id(tensor)] = tensor
        size = tensor.numel() * tensor.element_size()
        elements += tensor.numel()
        held += size
        trained += size if tensor.requires_grad else 0
    for tensor in module.buffers():
        if id(tensor) not in seen:
            seen[id(tensor)] = tensor
            buffers += tensor.numel() * tensor.element_size()
    return Weights(elements, held, trained, buffers)
