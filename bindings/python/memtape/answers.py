# SPDX-License-Identifier: Apache-2.0
# Made by bindings/python/generate.py: do not edit.
"""Answers as frozen dataclasses. Field names are the keys of the JSON (docs/json.md); every *_bytes is a whole number of
bytes, per GPU."""
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple

from ._answer import Answer


@dataclass(frozen=True)
class TrainModel:
    """An entry of the answers' JSON (docs/json.md): TrainModel."""

    id: str
    family: str
    parameters: int
    trainable_parameters: int
    weight_bytes: int

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "TrainModel":
        return cls(
            id=d["id"],
            family=d["family"],
            parameters=d["parameters"],
            trainable_parameters=d["trainable_parameters"],
            weight_bytes=d["weight_bytes"],
        )


@dataclass(frozen=True)
class TrainDevice:
    """An entry of the answers' JSON (docs/json.md): TrainDevice."""

    name: str
    total_bytes: int
    id: Optional[str] = None
    context_bytes: Optional[int] = None
    source: Optional[str] = None

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "TrainDevice":
        return cls(
            name=d["name"],
            total_bytes=d["total_bytes"],
            id=d.get("id"),
            context_bytes=d.get("context_bytes"),
            source=d.get("source"),
        )


@dataclass(frozen=True)
class Levels:
    """An entry of the answers' JSON (docs/json.md): Levels."""

    peak_requested_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    at_peak: Mapping[str, int]

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "Levels":
        return cls(
            peak_requested_bytes=d["peak_requested_bytes"],
            peak_allocated_bytes=d["peak_allocated_bytes"],
            peak_reserved_bytes=d["peak_reserved_bytes"],
            at_peak=d["at_peak"],
        )


@dataclass(frozen=True)
class Tensor:
    """An entry of the answers' JSON (docs/json.md): Tensor."""

    category: str
    module: str
    op: str
    shape: Tuple[int, ...]
    dtype: str
    count: int
    bytes: int
    why: str

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "Tensor":
        return cls(
            category=d["category"],
            module=d["module"],
            op=d["op"],
            shape=tuple(d["shape"]),
            dtype=d["dtype"],
            count=d["count"],
            bytes=d["bytes"],
            why=d["why"],
        )


@dataclass(frozen=True)
class RankPeakMoment:
    """An entry of the answers' JSON (docs/json.md): RankPeakMoment."""

    event: int
    module: str
    op: str
    node: str

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "RankPeakMoment":
        return cls(
            event=d["event"],
            module=d["module"],
            op=d["op"],
            node=d["node"],
        )


@dataclass(frozen=True)
class Outside:
    """An entry of the answers' JSON (docs/json.md): Outside."""

    what: str
    counted_bytes: int
    low_bytes: int
    high_bytes: int
    source: str

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "Outside":
        return cls(
            what=d["what"],
            counted_bytes=d["counted_bytes"],
            low_bytes=d["low_bytes"],
            high_bytes=d["high_bytes"],
            source=d["source"],
        )


@dataclass(frozen=True)
class Rank:
    """An entry of the answers' JSON (docs/json.md): Rank."""

    ranks: Tuple[int, ...]
    stage: int
    parameter_bytes: int
    buffer_bytes: int
    optimizer_state_bytes: int
    gradient_bytes: int
    peak_requested_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    peak_device_bytes: int
    peak_phase: str
    steady_requested_bytes: int
    steady_allocated_bytes: int
    steady_reserved_bytes: int
    at_peak: Mapping[str, int]
    phases: Mapping[str, Levels]
    largest: Tuple[Tensor, ...]
    schedule: Optional[str] = None
    peak_moment: Optional[RankPeakMoment] = None
    outside: Optional[Tuple[Outside, ...]] = None

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "Rank":
        return cls(
            ranks=tuple(d["ranks"]),
            stage=d["stage"],
            parameter_bytes=d["parameter_bytes"],
            buffer_bytes=d["buffer_bytes"],
            optimizer_state_bytes=d["optimizer_state_bytes"],
            gradient_bytes=d["gradient_bytes"],
            peak_requested_bytes=d["peak_requested_bytes"],
            peak_allocated_bytes=d["peak_allocated_bytes"],
            peak_reserved_bytes=d["peak_reserved_bytes"],
            peak_device_bytes=d["peak_device_bytes"],
            peak_phase=d["peak_phase"],
            steady_requested_bytes=d["steady_requested_bytes"],
            steady_allocated_bytes=d["steady_allocated_bytes"],
            steady_reserved_bytes=d["steady_reserved_bytes"],
            at_peak=d["at_peak"],
            phases={k: Levels._of(x) for k, x in d["phases"].items()},
            largest=tuple([Tensor._of(i) for i in d["largest"]]),
            schedule=d.get("schedule"),
            peak_moment=None if d.get("peak_moment") is None else RankPeakMoment._of(d["peak_moment"]),
            outside=None if d.get("outside") is None else tuple([Outside._of(i) for i in d["outside"]]),
        )


@dataclass(frozen=True)
class TrainBound:
    """An entry of the answers' JSON (docs/json.md): TrainBound."""

    low_bytes: int
    high_bytes: int
    causes: Tuple[str, ...]

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "TrainBound":
        return cls(
            low_bytes=d["low_bytes"],
            high_bytes=d["high_bytes"],
            causes=tuple(d["causes"]),
        )


@dataclass(frozen=True)
class TrainAdvice:
    """An entry of the answers' JSON (docs/json.md): TrainAdvice."""

    change: str
    peak_device_bytes: int
    cost: str
    command: Optional[str] = None

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "TrainAdvice":
        return cls(
            change=d["change"],
            peak_device_bytes=d["peak_device_bytes"],
            cost=d["cost"],
            command=d.get("command"),
        )


@dataclass(frozen=True)
class Failure:
    """An entry of the answers' JSON (docs/json.md): Failure."""

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

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "Failure":
        return cls(
            step=d["step"],
            phase=d["phase"],
            module=d["module"],
            op=d["op"],
            shape=tuple(d["shape"]),
            dtype=d["dtype"],
            requested_bytes=d["requested_bytes"],
            segment_bytes=d["segment_bytes"],
            held_requested_bytes=d["held_requested_bytes"],
            held_allocated_bytes=d["held_allocated_bytes"],
            held_reserved_bytes=d["held_reserved_bytes"],
        )


@dataclass(frozen=True)
class TrainRule:
    """An entry of the answers' JSON (docs/json.md): TrainRule."""

    name: str
    formula: str
    source: str
    says_bytes: int
    of: str
    exact_bytes: int
    why: str

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "TrainRule":
        return cls(
            name=d["name"],
            formula=d["formula"],
            source=d["source"],
            says_bytes=d["says_bytes"],
            of=d["of"],
            exact_bytes=d["exact_bytes"],
            why=d["why"],
        )


@dataclass(frozen=True)
class TrainAnswer(Answer):
    """An entry of the answers' JSON (docs/json.md): TrainAnswer."""

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
    bounds: TrainBound
    advice: Tuple[TrainAdvice, ...]
    warnings: Tuple[str, ...]
    verdict: Optional[str]
    failure: Optional[Failure] = None
    rules: Optional[Tuple[TrainRule, ...]] = None

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "TrainAnswer":
        return cls(
            schema=d["schema"],
            command=d["command"],
            source=d["source"],
            model=TrainModel._of(d["model"]),
            workload=d["workload"],
            mesh=d["mesh"],
            device=(None if d["device"] is None else TrainDevice._of(d["device"])),
            ranks=tuple([Rank._of(i) for i in d["ranks"]]),
            peak_rank=d["peak_rank"],
            fits=d["fits"],
            headroom_bytes=d["headroom_bytes"],
            bounds=TrainBound._of(d["bounds"]),
            advice=tuple([TrainAdvice._of(i) for i in d["advice"]]),
            warnings=tuple(d["warnings"]),
            verdict=d["verdict"],
            failure=None if d.get("failure") is None else (None if d["failure"] is None else Failure._of(d["failure"])),
            rules=None if d.get("rules") is None else tuple([TrainRule._of(i) for i in d["rules"]]),
        )


@dataclass(frozen=True)
class Variant:
    """An entry of the answers' JSON (docs/json.md): Variant."""

    value: Optional[int] = None
    options: Optional[Mapping[str, str]] = None
    gpu: Optional[str] = None
    gpus: Optional[int] = None
    price_per_hour: Optional[float] = None
    peak_device_bytes: Optional[int] = None
    total_bytes: Optional[int] = None
    headroom_bytes: Optional[int] = None
    fits: Optional[bool] = None
    verdict: Optional[str] = None
    failure: Optional[str] = None

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "Variant":
        return cls(
            value=d.get("value"),
            options=d.get("options"),
            gpu=d.get("gpu"),
            gpus=d.get("gpus"),
            price_per_hour=d.get("price_per_hour"),
            peak_device_bytes=d.get("peak_device_bytes"),
            total_bytes=d.get("total_bytes"),
            headroom_bytes=d.get("headroom_bytes"),
            fits=d.get("fits"),
            verdict=d.get("verdict"),
            failure=d.get("failure"),
        )


@dataclass(frozen=True)
class QuestionAnswer(Answer):
    """An entry of the answers' JSON (docs/json.md): QuestionAnswer."""

    schema: str
    command: str
    question: str
    id: str
    option: Optional[str] = None
    value: Optional[int] = None
    run: Optional[str] = None
    beyond: Optional[Variant] = None
    also_fit: Optional[Tuple[int, ...]] = None
    cells: Optional[Tuple[Variant, ...]] = None
    compared: Optional[Tuple[Variant, ...]] = None
    winner: Optional[int] = None

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "QuestionAnswer":
        return cls(
            schema=d["schema"],
            command=d["command"],
            question=d["question"],
            id=d["id"],
            option=d.get("option"),
            value=d.get("value"),
            run=d.get("run"),
            beyond=None if d.get("beyond") is None else (None if d["beyond"] is None else Variant._of(d["beyond"])),
            also_fit=None if d.get("also_fit") is None else tuple(d["also_fit"]),
            cells=None if d.get("cells") is None else tuple([Variant._of(i) for i in d["cells"]]),
            compared=None if d.get("compared") is None else tuple([Variant._of(i) for i in d["compared"]]),
            winner=d.get("winner"),
        )


@dataclass(frozen=True)
class ServedModel:
    """An entry of the answers' JSON (docs/json.md): ServedModel."""

    id: str
    family: str
    parameters: Optional[int]
    trainable_parameters: int
    weight_bytes: int

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "ServedModel":
        return cls(
            id=d["id"],
            family=d["family"],
            parameters=d["parameters"],
            trainable_parameters=d["trainable_parameters"],
            weight_bytes=d["weight_bytes"],
        )


@dataclass(frozen=True)
class ServeDevice:
    """An entry of the answers' JSON (docs/json.md): ServeDevice."""

    name: str
    total_bytes: int
    id: Optional[str] = None
    context_bytes: Optional[int] = None
    source: Optional[str] = None

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "ServeDevice":
        return cls(
            name=d["name"],
            total_bytes=d["total_bytes"],
            id=d.get("id"),
            context_bytes=d.get("context_bytes"),
            source=d.get("source"),
        )


@dataclass(frozen=True)
class KvCacheLayer:
    """An entry of the answers' JSON (docs/json.md): KvCacheLayer."""

    kind: str
    layers: int
    tokens: int
    bytes_per_token: int
    bytes: int
    key_type: str
    value_type: str

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "KvCacheLayer":
        return cls(
            kind=d["kind"],
            layers=d["layers"],
            tokens=d["tokens"],
            bytes_per_token=d["bytes_per_token"],
            bytes=d["bytes"],
            key_type=d["key_type"],
            value_type=d["value_type"],
        )


@dataclass(frozen=True)
class KvCache:
    """An entry of the answers' JSON (docs/json.md): KvCache."""

    bytes_per_token: Optional[int]
    block_size: int
    num_blocks: int
    tokens: int
    max_concurrency: Optional[float]
    bytes: int
    layers: Tuple[KvCacheLayer, ...]

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "KvCache":
        return cls(
            bytes_per_token=d["bytes_per_token"],
            block_size=d["block_size"],
            num_blocks=d["num_blocks"],
            tokens=d["tokens"],
            max_concurrency=d["max_concurrency"],
            bytes=d["bytes"],
            layers=tuple([KvCacheLayer._of(i) for i in d["layers"]]),
        )


@dataclass(frozen=True)
class ServeRankPhaseItem:
    """An entry of the answers' JSON (docs/json.md): ServeRankPhaseItem."""

    peak_requested_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "ServeRankPhaseItem":
        return cls(
            peak_requested_bytes=d["peak_requested_bytes"],
            peak_allocated_bytes=d["peak_allocated_bytes"],
            peak_reserved_bytes=d["peak_reserved_bytes"],
        )


@dataclass(frozen=True)
class ServeRank:
    """An entry of the answers' JSON (docs/json.md): ServeRank."""

    ranks: Tuple[int, ...]
    stage: int
    weights_bytes: int
    activation_peak_bytes: int
    non_torch_bytes: int
    cuda_graph_bytes: int
    kv_cache: KvCache
    peak_device_bytes: int
    at_peak: Mapping[str, int]
    phases: Mapping[str, ServeRankPhaseItem]
    peak_requested_bytes: Optional[int] = None
    peak_allocated_bytes: Optional[int] = None
    peak_reserved_bytes: Optional[int] = None

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "ServeRank":
        return cls(
            ranks=tuple(d["ranks"]),
            stage=d["stage"],
            weights_bytes=d["weights_bytes"],
            activation_peak_bytes=d["activation_peak_bytes"],
            non_torch_bytes=d["non_torch_bytes"],
            cuda_graph_bytes=d["cuda_graph_bytes"],
            kv_cache=KvCache._of(d["kv_cache"]),
            peak_device_bytes=d["peak_device_bytes"],
            at_peak=d["at_peak"],
            phases={k: ServeRankPhaseItem._of(x) for k, x in d["phases"].items()},
            peak_requested_bytes=d.get("peak_requested_bytes"),
            peak_allocated_bytes=d.get("peak_allocated_bytes"),
            peak_reserved_bytes=d.get("peak_reserved_bytes"),
        )


@dataclass(frozen=True)
class ServeBound:
    """An entry of the answers' JSON (docs/json.md): ServeBound."""

    low_bytes: int
    high_bytes: int
    causes: Tuple[str, ...]

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "ServeBound":
        return cls(
            low_bytes=d["low_bytes"],
            high_bytes=d["high_bytes"],
            causes=tuple(d["causes"]),
        )


@dataclass(frozen=True)
class ServeAdvice:
    """An entry of the answers' JSON (docs/json.md): ServeAdvice."""

    change: str
    peak_device_bytes: int
    cost: str

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "ServeAdvice":
        return cls(
            change=d["change"],
            peak_device_bytes=d["peak_device_bytes"],
            cost=d["cost"],
        )


@dataclass(frozen=True)
class ServeBufferItem:
    """An entry of the answers' JSON (docs/json.md): ServeBufferItem."""

    model_bytes: int
    context_bytes: int
    compute_bytes: int

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "ServeBufferItem":
        return cls(
            model_bytes=d["model_bytes"],
            context_bytes=d["context_bytes"],
            compute_bytes=d["compute_bytes"],
        )


@dataclass(frozen=True)
class ServeSolved:
    """An entry of the answers' JSON (docs/json.md): ServeSolved."""

    flag: str
    value: str
    beyond: str

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "ServeSolved":
        return cls(
            flag=d["flag"],
            value=d["value"],
            beyond=d["beyond"],
        )


@dataclass(frozen=True)
class ServeUser:
    """An entry of the answers' JSON (docs/json.md): ServeUser."""

    asked: Optional[int]
    context: int
    output: int
    fit: int
    bytes_per_user: int

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "ServeUser":
        return cls(
            asked=d["asked"],
            context=d["context"],
            output=d["output"],
            fit=d["fit"],
            bytes_per_user=d["bytes_per_user"],
        )


@dataclass(frozen=True)
class ServeAnswer(Answer):
    """An entry of the answers' JSON (docs/json.md): ServeAnswer."""

    schema: str
    command: str
    engine: str
    model: ServedModel
    workload: Mapping[str, Any]
    mesh: Mapping[str, Any]
    device: Optional[ServeDevice]
    kv_cache: KvCache
    ranks: Tuple[ServeRank, ...]
    peak_rank: int
    fits: Optional[bool]
    verdict: Optional[str]
    headroom_bytes: Optional[int]
    failure: Optional[str]
    bounds: ServeBound
    advice: Tuple[ServeAdvice, ...]
    notes: Tuple[str, ...]
    warnings: Tuple[str, ...]
    buffers: Optional[Mapping[str, ServeBufferItem]] = None
    doubt: Optional[str] = None
    solved: Optional[ServeSolved] = None
    users: Optional[ServeUser] = None
    corrected_command: Optional[str] = None

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "ServeAnswer":
        return cls(
            schema=d["schema"],
            command=d["command"],
            engine=d["engine"],
            model=ServedModel._of(d["model"]),
            workload=d["workload"],
            mesh=d["mesh"],
            device=(None if d["device"] is None else ServeDevice._of(d["device"])),
            kv_cache=KvCache._of(d["kv_cache"]),
            ranks=tuple([ServeRank._of(i) for i in d["ranks"]]),
            peak_rank=d["peak_rank"],
            fits=d["fits"],
            verdict=d["verdict"],
            headroom_bytes=d["headroom_bytes"],
            failure=d["failure"],
            bounds=ServeBound._of(d["bounds"]),
            advice=tuple([ServeAdvice._of(i) for i in d["advice"]]),
            notes=tuple(d["notes"]),
            warnings=tuple(d["warnings"]),
            buffers=None if d.get("buffers") is None else {k: ServeBufferItem._of(x) for k, x in d["buffers"].items()},
            doubt=d.get("doubt"),
            solved=None if d.get("solved") is None else ServeSolved._of(d["solved"]),
            users=None if d.get("users") is None else ServeUser._of(d["users"]),
            corrected_command=d.get("corrected_command"),
        )


@dataclass(frozen=True)
class CompareCompared:
    """An entry of the answers' JSON (docs/json.md): CompareCompared."""

    gpu: str
    quantize: Optional[str]
    fits: Optional[bool]
    verdict: Optional[str]
    reason: Optional[str] = None
    users_fit: Optional[int] = None
    solved: Optional[str] = None
    total_bytes: Optional[int] = None
    peak_device_bytes: Optional[int] = None
    headroom_bytes: Optional[int] = None
    kv_tokens: Optional[int] = None
    failure: Optional[str] = None

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "CompareCompared":
        return cls(
            gpu=d["gpu"],
            quantize=d["quantize"],
            fits=d["fits"],
            verdict=d["verdict"],
            reason=d.get("reason"),
            users_fit=d.get("users_fit"),
            solved=d.get("solved"),
            total_bytes=d.get("total_bytes"),
            peak_device_bytes=d.get("peak_device_bytes"),
            headroom_bytes=d.get("headroom_bytes"),
            kv_tokens=d.get("kv_tokens"),
            failure=d.get("failure"),
        )


@dataclass(frozen=True)
class CompareAnswer(Answer):
    """An entry of the answers' JSON (docs/json.md): CompareAnswer."""

    schema: str
    command: str
    winner: Optional[int]
    compared: Tuple[CompareCompared, ...]

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "CompareAnswer":
        return cls(
            schema=d["schema"],
            command=d["command"],
            winner=d["winner"],
            compared=tuple([CompareCompared._of(i) for i in d["compared"]]),
        )


@dataclass(frozen=True)
class ModelsModel:
    """An entry of the answers' JSON (docs/json.md): ModelsModel."""

    id: str
    family: str
    parameters: Optional[int]
    supported: bool

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "ModelsModel":
        return cls(
            id=d["id"],
            family=d["family"],
            parameters=d["parameters"],
            supported=d["supported"],
        )


@dataclass(frozen=True)
class ModelsAnswer(Answer):
    """An entry of the answers' JSON (docs/json.md): ModelsAnswer."""

    schema: str
    command: str
    models: Tuple[ModelsModel, ...]

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "ModelsAnswer":
        return cls(
            schema=d["schema"],
            command=d["command"],
            models=tuple([ModelsModel._of(i) for i in d["models"]]),
        )


@dataclass(frozen=True)
class ModelModel:
    """An entry of the answers' JSON (docs/json.md): ModelModel."""

    id: str
    from_: str
    family: str
    supported: bool
    parameters: Optional[int] = None
    parameters_source: Optional[str] = None
    config_source: Optional[str] = None

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "ModelModel":
        return cls(
            id=d["id"],
            from_=d["from"],
            family=d["family"],
            supported=d["supported"],
            parameters=d.get("parameters"),
            parameters_source=d.get("parameters_source"),
            config_source=d.get("config_source"),
        )


@dataclass(frozen=True)
class ModelAnswer(Answer):
    """An entry of the answers' JSON (docs/json.md): ModelAnswer."""

    schema: str
    command: str
    model: ModelModel

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "ModelAnswer":
        return cls(
            schema=d["schema"],
            command=d["command"],
            model=ModelModel._of(d["model"]),
        )


@dataclass(frozen=True)
class GpusGpu:
    """An entry of the answers' JSON (docs/json.md): GpusGpu."""

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
    tflops_fp32: Optional[float] = None
    tflops_bf16: Optional[float] = None
    tflops_fp16: Optional[float] = None
    tflops_fp8: Optional[float] = None
    tflops_fp4: Optional[float] = None
    memory_gb_s: Optional[float] = None
    link_gb_s: Optional[float] = None
    pcie_gb_s: Optional[float] = None
    network_gb_s: Optional[float] = None

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "GpusGpu":
        return cls(
            id=d["id"],
            name=d["name"],
            vendor=d["vendor"],
            architecture=d["architecture"],
            compute_capability=d["compute_capability"],
            sm_count=d["sm_count"],
            total_bytes=d["total_bytes"],
            total_certainty=d["total_certainty"],
            total_source=d["total_source"],
            context_bytes=d["context_bytes"],
            context_certainty=d["context_certainty"],
            context_source=d["context_source"],
            notes=d["notes"],
            tflops_fp32=d.get("tflops_fp32"),
            tflops_bf16=d.get("tflops_bf16"),
            tflops_fp16=d.get("tflops_fp16"),
            tflops_fp8=d.get("tflops_fp8"),
            tflops_fp4=d.get("tflops_fp4"),
            memory_gb_s=d.get("memory_gb_s"),
            link_gb_s=d.get("link_gb_s"),
            pcie_gb_s=d.get("pcie_gb_s"),
            network_gb_s=d.get("network_gb_s"),
        )


@dataclass(frozen=True)
class GpusAnswer(Answer):
    """An entry of the answers' JSON (docs/json.md): GpusAnswer."""

    schema: str
    command: str
    gpus: Tuple[GpusGpu, ...]

    @classmethod
    def _of(cls, d: Mapping[str, Any]) -> "GpusAnswer":
        return cls(
            schema=d["schema"],
            command=d["command"],
            gpus=tuple([GpusGpu._of(i) for i in d["gpus"]]),
        )
