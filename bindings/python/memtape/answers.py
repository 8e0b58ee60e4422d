# SPDX-License-Identifier: Apache-2.0
# Made by bindings/python/generate.py: do not edit.
"""Answers as frozen dataclasses. Field names are the keys of the JSON (docs/json.md); what ends in _bytes is a whole number
of bytes, per GPU; what need not be there is None then."""
from dataclasses import dataclass
from typing import Any, ClassVar, Mapping, Optional, Tuple

from ._answer import Answer, ExplainedAnswer, ListAnswer, RankAnswer, Read, Reader, by_name, each


@dataclass(frozen=True, repr=False)
class TrainModel(Read):
    """A part of an answer (docs/json.md)."""

    id: str
    family: str
    parameters: int
    trainable_parameters: int
    weight_bytes: int


@dataclass(frozen=True, repr=False)
class TrainDevice(Read):
    """A part of an answer (docs/json.md)."""

    name: str
    total_bytes: int
    id: Optional[str]
    context_bytes: Optional[int]
    source: Optional[str]

    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("id", "context_bytes", "source",))


@dataclass(frozen=True, repr=False)
class RankPeakMoment(Read):
    """A part of an answer (docs/json.md)."""

    event: int
    module: str
    op: str
    node: str


@dataclass(frozen=True, repr=False)
class Levels(Read):
    """A part of an answer (docs/json.md)."""

    peak_requested_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    at_peak: Mapping[str, int]


@dataclass(frozen=True, repr=False)
class Tensor(Read):
    """A part of an answer (docs/json.md)."""

    category: str
    module: str
    op: str
    shape: Tuple[int, ...]
    dtype: str
    count: int
    bytes: int
    why: str

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("shape", tuple),
    )


@dataclass(frozen=True, repr=False)
class Outside(Read):
    """A part of an answer (docs/json.md)."""

    what: str
    counted_bytes: int
    low_bytes: int
    high_bytes: int
    source: str


@dataclass(frozen=True, repr=False)
class Rank(Read):
    """A part of an answer (docs/json.md)."""

    ranks: Tuple[int, ...]
    stage: int
    schedule: Optional[str]
    parameter_bytes: int
    buffer_bytes: int
    optimizer_state_bytes: int
    gradient_bytes: int
    peak_requested_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    peak_device_bytes: int
    peak_phase: str
    peak_moment: Optional[RankPeakMoment]
    steady_requested_bytes: int
    steady_allocated_bytes: int
    steady_reserved_bytes: int
    at_peak: Mapping[str, int]
    phases: Mapping[str, Levels]
    largest: Tuple[Tensor, ...]
    outside: Optional[Tuple[Outside, ...]]

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("ranks", tuple),
        ("peak_moment", RankPeakMoment._of),
        ("phases", by_name(Levels._of)),
        ("largest", each(Tensor._of)),
        ("outside", each(Outside._of)),
    )
    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("schedule", "peak_moment", "outside",))


@dataclass(frozen=True, repr=False)
class Failure(Read):
    """A part of an answer (docs/json.md)."""

    step: int
    phase: str
    module: str
    op: str
    shape: Tuple[int, ...]
    dtype: str
    requested_bytes: int
    segment_bytes: int
    held_requested_bytes: int
    held_allocated_bytes: int
    held_reserved_bytes: int

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("shape", tuple),
    )


@dataclass(frozen=True, repr=False)
class TrainBound(Read):
    """A part of an answer (docs/json.md)."""

    low_bytes: int
    high_bytes: int
    causes: Tuple[str, ...]

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("causes", tuple),
    )


@dataclass(frozen=True, repr=False)
class TrainAdvice(Read):
    """A part of an answer (docs/json.md)."""

    change: str
    command: Optional[str]
    peak_device_bytes: int
    cost: str
    gives_back: Optional[bool]

    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("command", "gives_back",))


@dataclass(frozen=True, repr=False)
class TrainRule(Read):
    """A part of an answer (docs/json.md)."""

    name: str
    formula: str
    source: str
    says_bytes: int
    of: str
    exact_bytes: int
    why: str


@dataclass(frozen=True, repr=False)
class TrainAnswer(RankAnswer):
    """The answer (docs/json.md)."""

    schema: str
    command: str
    source: str
    model: TrainModel
    workload: Mapping[str, Any]
    mesh: Mapping[str, Any]
    device: Optional[TrainDevice]
    ranks: Tuple[Rank, ...]
    peak_rank: int
    fits: Optional[bool]
    headroom_bytes: Optional[int]
    needed_bytes: int
    within_limit_bytes: Optional[int]
    failure: Optional[Failure]
    bounds: TrainBound
    advice: Tuple[TrainAdvice, ...]
    nothing_helps: Optional[str]
    warnings: Tuple[str, ...]
    rules: Optional[Tuple[TrainRule, ...]]
    verdict: Optional[str]

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("model", TrainModel._of),
        ("device", TrainDevice._of),
        ("ranks", each(Rank._of)),
        ("failure", Failure._of),
        ("bounds", TrainBound._of),
        ("advice", each(TrainAdvice._of)),
        ("warnings", tuple),
        ("rules", each(TrainRule._of)),
    )
    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("failure", "nothing_helps", "rules",))


@dataclass(frozen=True, repr=False)
class Variant(Read):
    """A part of an answer (docs/json.md)."""

    value: Optional[int]
    options: Optional[Mapping[str, str]]
    gpu: Optional[str]
    gpus: Optional[int]
    price_per_hour: Optional[float]
    peak_device_bytes: Optional[int]
    without_limit_bytes: Optional[int]
    low_bytes: Optional[int]
    high_bytes: Optional[int]
    total_bytes: Optional[int]
    headroom_bytes: Optional[int]
    fits: Optional[bool]
    verdict: Optional[str]
    failure: Optional[str]

    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("value", "options", "gpu", "gpus", "price_per_hour", "peak_device_bytes", "without_limit_bytes", "low_bytes", "high_bytes", "total_bytes", "headroom_bytes", "fits", "verdict", "failure",))


@dataclass(frozen=True, repr=False)
class QuestionAnswer(Answer):
    """The answer (docs/json.md)."""

    schema: str
    command: str
    question: str
    id: str
    option: Optional[str]
    value: Optional[int]
    run: Optional[str]
    beyond: Optional[Variant]
    also_fit: Optional[Tuple[int, ...]]
    cells: Optional[Tuple[Variant, ...]]
    compared: Optional[Tuple[Variant, ...]]
    winner: Optional[int]

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("beyond", Variant._of),
        ("also_fit", tuple),
        ("cells", each(Variant._of)),
        ("compared", each(Variant._of)),
    )
    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("option", "value", "run", "beyond", "also_fit", "cells", "compared", "winner",))


@dataclass(frozen=True, repr=False)
class ServedModel(Read):
    """A part of an answer (docs/json.md)."""

    id: str
    family: str
    parameters: Optional[int]
    trainable_parameters: int
    weight_bytes: int


@dataclass(frozen=True, repr=False)
class ServeDevice(Read):
    """A part of an answer (docs/json.md)."""

    name: str
    total_bytes: int
    id: Optional[str]
    context_bytes: Optional[int]
    source: Optional[str]

    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("id", "context_bytes", "source",))


@dataclass(frozen=True, repr=False)
class KvCacheLayer(Read):
    """A part of an answer (docs/json.md)."""

    kind: str
    layers: int
    tokens: int
    bytes_per_token: int
    bytes: int
    key_type: str
    value_type: str


@dataclass(frozen=True, repr=False)
class KvCache(Read):
    """A part of an answer (docs/json.md)."""

    bytes_per_token: Optional[int]
    block_size: int
    num_blocks: int
    tokens: int
    max_concurrency: Optional[float]
    bytes: int
    layers: Tuple[KvCacheLayer, ...]

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("layers", each(KvCacheLayer._of)),
    )


@dataclass(frozen=True, repr=False)
class ServeBuffer(Read):
    """A part of an answer (docs/json.md)."""

    model_bytes: int
    context_bytes: int
    compute_bytes: int


@dataclass(frozen=True, repr=False)
class ServeRankPhase(Read):
    """A part of an answer (docs/json.md)."""

    peak_requested_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int


@dataclass(frozen=True, repr=False)
class ServeRank(Read):
    """A part of an answer (docs/json.md)."""

    ranks: Tuple[int, ...]
    stage: int
    weights_bytes: int
    activation_peak_bytes: int
    non_torch_bytes: int
    cuda_graph_bytes: int
    load_peak_bytes: Optional[int]
    kv_cache: KvCache
    peak_requested_bytes: Optional[int]
    peak_allocated_bytes: Optional[int]
    peak_reserved_bytes: Optional[int]
    peak_device_bytes: int
    at_peak: Mapping[str, int]
    phases: Mapping[str, ServeRankPhase]

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("ranks", tuple),
        ("kv_cache", KvCache._of),
        ("phases", by_name(ServeRankPhase._of)),
    )
    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("peak_requested_bytes", "peak_allocated_bytes", "peak_reserved_bytes",))


@dataclass(frozen=True, repr=False)
class ServeLoadFailure(Read):
    """A part of an answer (docs/json.md)."""

    module: str
    op: str
    requested_bytes: int
    held_allocated_bytes: int


@dataclass(frozen=True, repr=False)
class ServeBound(Read):
    """A part of an answer (docs/json.md)."""

    low_bytes: int
    high_bytes: int
    causes: Tuple[str, ...]

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("causes", tuple),
    )


@dataclass(frozen=True, repr=False)
class ServeSolved(Read):
    """A part of an answer (docs/json.md)."""

    flag: str
    value: str
    beyond: str


@dataclass(frozen=True, repr=False)
class ServeUser(Read):
    """A part of an answer (docs/json.md)."""

    asked: Optional[int]
    context: int
    output: int
    fit: int
    bytes_per_user: int


@dataclass(frozen=True, repr=False)
class ServeAdvice(Read):
    """A part of an answer (docs/json.md)."""

    change: str
    peak_device_bytes: int
    cost: str


@dataclass(frozen=True, repr=False)
class ServeAnswer(RankAnswer):
    """The answer (docs/json.md)."""

    schema: str
    command: str
    engine: str
    model: ServedModel
    workload: Mapping[str, Any]
    mesh: Mapping[str, Any]
    device: Optional[ServeDevice]
    kv_cache: KvCache
    buffers: Optional[Mapping[str, ServeBuffer]]
    ranks: Tuple[ServeRank, ...]
    peak_rank: int
    fits: Optional[bool]
    verdict: Optional[str]
    headroom_bytes: Optional[int]
    load_peak_bytes: Optional[int]
    load_verdict: Optional[str]
    load_failure: Optional[ServeLoadFailure]
    failure: Optional[str]
    doubt: Optional[str]
    bounds: ServeBound
    solved: Optional[ServeSolved]
    users: Optional[ServeUser]
    corrected_command: Optional[str]
    nothing_helps: Optional[str]
    advice: Tuple[ServeAdvice, ...]
    notes: Tuple[str, ...]
    warnings: Tuple[str, ...]

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("model", ServedModel._of),
        ("device", ServeDevice._of),
        ("kv_cache", KvCache._of),
        ("buffers", by_name(ServeBuffer._of)),
        ("ranks", each(ServeRank._of)),
        ("load_failure", ServeLoadFailure._of),
        ("bounds", ServeBound._of),
        ("solved", ServeSolved._of),
        ("users", ServeUser._of),
        ("advice", each(ServeAdvice._of)),
        ("notes", tuple),
        ("warnings", tuple),
    )
    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("buffers", "load_failure", "doubt", "solved", "users", "corrected_command", "nothing_helps",))


@dataclass(frozen=True, repr=False)
class CompareCompared(Read):
    """A part of an answer (docs/json.md)."""

    gpu: str
    quantize: Optional[str]
    fits: Optional[bool]
    verdict: Optional[str]
    reason: Optional[str]
    users_fit: Optional[int]
    solved: Optional[str]
    total_bytes: Optional[int]
    peak_device_bytes: Optional[int]
    headroom_bytes: Optional[int]
    kv_tokens: Optional[int]
    failure: Optional[str]

    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("reason", "users_fit", "solved", "total_bytes", "peak_device_bytes", "headroom_bytes", "kv_tokens", "failure",))


@dataclass(frozen=True, repr=False)
class CompareAnswer(Answer):
    """The answer (docs/json.md)."""

    schema: str
    command: str
    winner: Optional[int]
    compared: Tuple[CompareCompared, ...]

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("compared", each(CompareCompared._of)),
    )


@dataclass(frozen=True, repr=False)
class ModelsModel(Read):
    """A part of an answer (docs/json.md)."""

    id: str
    family: str
    parameters: Optional[int]
    supported: bool


@dataclass(frozen=True, repr=False)
class ModelsAnswer(ListAnswer):
    """The answer (docs/json.md)."""

    schema: str
    command: str
    models: Tuple[ModelsModel, ...]

    _listed: ClassVar[str] = "models"

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("models", each(ModelsModel._of)),
    )


@dataclass(frozen=True, repr=False)
class ModelModel(Read):
    """A part of an answer (docs/json.md)."""

    id: str
    from_: str
    family: str
    supported: bool
    parameters: Optional[int]
    parameters_source: Optional[str]
    config_source: Optional[str]

    _renamed: ClassVar[Tuple[Tuple[str, str], ...]] = (("from", "from_"),)
    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("parameters", "parameters_source", "config_source",))


@dataclass(frozen=True, repr=False)
class ModelAnswer(Answer):
    """The answer (docs/json.md)."""

    schema: str
    command: str
    model: ModelModel

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("model", ModelModel._of),
    )


@dataclass(frozen=True, repr=False)
class GpusGpu(Read):
    """A part of an answer (docs/json.md)."""

    id: str
    name: str
    vendor: str
    architecture: str
    compute_capability: Optional[str]
    sm_count: Optional[int]
    total_bytes: Optional[int]
    total_certainty: str
    total_source: Optional[str]
    context_bytes: Optional[int]
    context_certainty: str
    context_source: Optional[str]
    notes: str
    tflops_fp32: Optional[float]
    tflops_bf16: Optional[float]
    tflops_fp16: Optional[float]
    tflops_fp8: Optional[float]
    tflops_fp4: Optional[float]
    memory_gb_s: Optional[float]
    link_gb_s: Optional[float]
    pcie_gb_s: Optional[float]
    network_gb_s: Optional[float]

    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("tflops_fp32", "tflops_bf16", "tflops_fp16", "tflops_fp8", "tflops_fp4", "memory_gb_s", "link_gb_s", "pcie_gb_s", "network_gb_s",))


@dataclass(frozen=True, repr=False)
class GpusAnswer(ListAnswer):
    """The answer (docs/json.md)."""

    schema: str
    command: str
    gpus: Tuple[GpusGpu, ...]

    _listed: ClassVar[str] = "gpus"

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("gpus", each(GpusGpu._of)),
    )


@dataclass(frozen=True, repr=False)
class Seconds(Read):
    """A part of an answer (docs/json.md)."""

    low: float
    mid: float
    high: float


@dataclass(frozen=True, repr=False)
class PlanRowTime(Read):
    """A part of an answer (docs/json.md)."""

    what: str
    seconds: float


@dataclass(frozen=True, repr=False)
class PlanRowStage(Read):
    """A part of an answer (docs/json.md)."""

    forward_seconds: float
    backward_seconds: float
    waits_seconds: float


@dataclass(frozen=True, repr=False)
class PlanRow(Read):
    """A part of an answer (docs/json.md)."""

    rank: Optional[int]
    layout: Mapping[str, Any]
    framework: str
    gpus: int
    step_seconds: Optional[Seconds]
    ttft_seconds: Optional[Seconds]
    tpot_seconds: Optional[Seconds]
    users: Optional[int]
    tokens_per_second: float
    mfu: Optional[float]
    peak_device_bytes: Optional[int]
    run_micro_batches: Optional[int]
    within_limit_bytes: Optional[int]
    headroom_bytes: Optional[int]
    fits: Optional[bool]
    verdict: Optional[str]
    cost_per_hour: Optional[float]
    launch: Optional[str]
    sacrifice: Optional[str]
    time: Tuple[PlanRowTime, ...]
    stages: Optional[Tuple[PlanRowStage, ...]]
    command: Tuple[str, ...]

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("step_seconds", Seconds._of),
        ("ttft_seconds", Seconds._of),
        ("tpot_seconds", Seconds._of),
        ("time", each(PlanRowTime._of)),
        ("stages", each(PlanRowStage._of)),
        ("command", tuple),
    )
    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("rank", "step_seconds", "ttft_seconds", "tpot_seconds", "users", "run_micro_batches", "within_limit_bytes", "cost_per_hour", "launch", "sacrifice", "stages",))


@dataclass(frozen=True, repr=False)
class PlanAnswer(ListAnswer):
    """The answer (docs/json.md)."""

    schema: str
    command: str
    question: str
    objective: str
    plans: Tuple[PlanRow, ...]
    pareto: Tuple[int, ...]
    why_not: Tuple[PlanRow, ...]
    expected: Optional[Tuple[PlanRow, ...]]
    screened: int
    bounded: int
    confirmed: int
    stopped: Optional[bool]
    warnings: Tuple[str, ...]

    _listed: ClassVar[str] = "plans"

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("plans", each(PlanRow._of)),
        ("pareto", tuple),
        ("why_not", each(PlanRow._of)),
        ("expected", each(PlanRow._of)),
        ("warnings", tuple),
    )
    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("expected", "stopped",))


@dataclass(frozen=True, repr=False)
class ExplainedOomOtherProcesse(Read):
    """A part of an answer (docs/json.md)."""

    pid: int
    bytes: int


@dataclass(frozen=True, repr=False)
class ExplainedOom(Read):
    """A part of an answer (docs/json.md)."""

    wording: Optional[str]
    line: Optional[int]
    times: Optional[int]
    backend: Optional[str]
    gpu: Optional[int]
    event: Optional[int]
    requested_bytes: Optional[int]
    device_bytes: Optional[int]
    free_bytes: Optional[int]
    process_bytes: Optional[int]
    allocated_bytes: Optional[int]
    reserved_unallocated_bytes: Optional[int]
    other_processes: Optional[Tuple[ExplainedOomOtherProcesse, ...]]
    place: str

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("other_processes", each(ExplainedOomOtherProcesse._of)),
    )
    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("wording", "line", "times", "backend", "gpu", "event", "device_bytes", "process_bytes", "other_processes",))


@dataclass(frozen=True, repr=False)
class ExplainedAdvice(Read):
    """A part of an answer (docs/json.md)."""

    change: str
    effect: str
    bytes: Optional[int]
    is_enough: bool


@dataclass(frozen=True, repr=False)
class ExplainedRecording(Read):
    """A part of an answer (docs/json.md)."""

    name: str
    gpu: int
    events: int
    exact: bool
    peak_allocated_bytes: int
    peak_reserved_bytes: Optional[int]
    at_peak: Mapping[str, int]
    rounding_bytes: int
    largest: Tuple[Mapping[str, Any], ...]
    fragmentation: Mapping[str, Any]
    steps: int
    leaks: Tuple[Mapping[str, Any], ...]
    replayed: Tuple[Mapping[str, Any], ...]
    oom: Optional[ExplainedOom]
    advice: Tuple[ExplainedAdvice, ...]

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("largest", tuple),
        ("leaks", tuple),
        ("replayed", tuple),
        ("oom", ExplainedOom._of),
        ("advice", each(ExplainedAdvice._of)),
    )
    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("peak_reserved_bytes", "oom",))


@dataclass(frozen=True, repr=False)
class ExplainedMessage(Read):
    """A part of an answer (docs/json.md)."""

    oom: ExplainedOom
    findings: Tuple[str, ...]
    advice: Tuple[ExplainedAdvice, ...]

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("oom", ExplainedOom._of),
        ("findings", tuple),
        ("advice", each(ExplainedAdvice._of)),
    )


@dataclass(frozen=True, repr=False)
class ExplanationFigure(Read):
    """A part of an answer (docs/json.md)."""

    program: str
    name: str
    where: str
    unit: str
    first: float
    last: float
    highest: float
    times: int
    line: int


@dataclass(frozen=True, repr=False)
class ExplanationResidual(Read):
    """A part of an answer (docs/json.md)."""

    cause: str
    bytes: int
    where: str


@dataclass(frozen=True, repr=False)
class Explanation(ExplainedAnswer):
    """The answer (docs/json.md)."""

    schema: str
    command: str
    kind: str
    files: Tuple[str, ...]
    peak_allocated_bytes: Optional[int]
    peak_reserved_bytes: Optional[int]
    at_peak: Optional[Mapping[str, int]]
    oom: Optional[ExplainedOom]
    findings: Optional[Tuple[str, ...]]
    advice: Optional[Tuple[ExplainedAdvice, ...]]
    recordings: Tuple[ExplainedRecording, ...]
    messages: Tuple[ExplainedMessage, ...]
    figures: Tuple[ExplanationFigure, ...]
    against: Optional[str]
    predicted_peak_allocated_bytes: Optional[int]
    predicted_peak_reserved_bytes: Optional[int]
    residual: Optional[Tuple[ExplanationResidual, ...]]
    warnings: Tuple[str, ...]

    _nested: ClassVar[Tuple[Tuple[str, Reader], ...]] = (
        ("files", tuple),
        ("oom", ExplainedOom._of),
        ("findings", tuple),
        ("advice", each(ExplainedAdvice._of)),
        ("recordings", each(ExplainedRecording._of)),
        ("messages", each(ExplainedMessage._of)),
        ("figures", each(ExplanationFigure._of)),
        ("residual", each(ExplanationResidual._of)),
        ("warnings", tuple),
    )
    _absent: ClassVar[Mapping[str, None]] = dict.fromkeys(("peak_allocated_bytes", "peak_reserved_bytes", "at_peak", "oom", "findings", "advice", "against", "predicted_peak_allocated_bytes", "predicted_peak_reserved_bytes", "residual",))
