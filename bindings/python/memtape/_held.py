# SPDX-License-Identifier: Apache-2.0
"""What people hold in their hands, as a request: configurations of transformers, peft, bitsandbytes, DeepSpeed and vLLM, and
modules. Known by the names of their classes, so that none of these packages has to be there."""
import dataclasses
import json
from typing import Any, Dict, Iterable, Mapping, NamedTuple, Sequence, Tuple

from ._error import Error


def _is(value: Any, *names: str) -> bool:
    return any(base.__name__ in names for base in type(value).__mro__)


def _jsonable(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    text = str(value)
    return text[6:] if text.startswith("torch.") else getattr(value, "value", text)


def _json(fields: Any) -> str:
    return json.dumps(fields, default=lambda v: sorted(v) if isinstance(v, (set, frozenset)) else _jsonable(v))


def plain_object(value: Any) -> Any:
    """A value that is neither a number nor a text nor made of those."""
    if _is(value, "PeftConfigMixin", "LoraConfig") or hasattr(value, "to_dict"):
        return json.loads(_json(value.to_dict()))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return json.loads(_json(dataclasses.asdict(value)))
    plain = _jsonable(value)
    if plain is value or not isinstance(plain, (str, int, float)):
        raise Error(f"a {type(value).__name__} is no value of an option", "options", "a text, a number, a list or a mapping")
    return plain


def config_of(value: Any) -> Tuple[str, Dict[str, Any]]:
    """(name, config.json) of a PretrainedConfig, or of a model that has one."""
    config = value if _is(value, "PretrainedConfig", "PreTrainedConfig") else getattr(value, "config", None)
    if config is None or not hasattr(config, "to_dict"):
        raise Error(f"a {type(value).__name__} has no configuration", "model",
                    "a transformers model; memtape.weights() counts any module, `memtape run` runs any program")
    name = getattr(config, "_name_or_path", "") or "config"
    return name, json.loads(_json(config.to_dict()))


def _changed(value: Any, left_out: Iterable[str] = ()) -> Dict[str, Any]:
    """The fields of a dataclass that are not at their defaults."""
    changed = {}
    for field in dataclasses.fields(value):
        if not field.init or field.name in left_out:
            continue
        made = field.default_factory
        default = made() if made is not dataclasses.MISSING else field.default
        now = getattr(value, field.name)
        if now != default and now is not None:
            changed[field.name] = now
    return changed


# Where files go, what is logged and when: nothing that memory depends on, and machine by machine different.
_PLACES = ("output_dir", "logging_dir", "run_name", "hub_model_id", "hub_token", "report_to", "local_rank", "ddp_backend", "data_seed", "seed",
           "log_level", "logging_steps", "save_steps", "save_strategy", "logging_strategy", "push_to_hub", "disable_tqdm", "use_cpu", "no_cuda",
           "accelerator_config", "parallelism_config", "deepspeed_plugin", "mp_parameters", "lr_scheduler_kwargs", "warmup_steps",
           "warmup_ratio", "num_train_epochs", "max_steps", "learning_rate", "remove_unused_columns")


def _arguments(value: Any) -> Dict[str, Any]:
    """TrainingArguments as options, under the names that Trainer has for them."""
    options = {}
    for name, now in _changed(value, _PLACES).items():
        plain = getattr(now, "value", now)
        if name in ("fsdp", "debug") and isinstance(plain, (list, tuple)):
            plain = " ".join(str(getattr(item, "value", item)) for item in plain)
        if plain != "" and plain != [] and plain != {}:
            options[name] = plain
    options["framework"] = "transformers"
    return options


def _engine(value: Any) -> Dict[str, Any]:
    """EngineArgs as options, under vLLM's names."""
    return {name: now for name, now in _changed(value, ("model", "tokenizer", "served_model_name")).items()
            if isinstance(now, (str, int, float, bool))}


def understand(command: str, model: Any, held: Sequence[Any], config: Any,
               options: Mapping[str, Any]) -> Tuple[Any, Any, Dict[str, Any]]:
    """model, config and options with what `model` and `held` say; a keyword goes before what an object says."""
    said: Dict[str, Any] = {}
    if model is not None and not isinstance(model, str) and not hasattr(model, "__fspath__"):
        if _is(model, "EngineArgs", "AsyncEngineArgs"):
            held, model = (model, *held), model.model
        else:
            model, config = config_of(model)
    for value in held:
        if _is(value, "TrainingArguments"):
            said.update(_arguments(value))
        elif _is(value, "LoraConfig", "PeftConfig"):
            said["peft"] = _json(value.to_dict())
        elif _is(value, "BitsAndBytesConfig", "QuantizationConfigMixin"):
            said["quantization"] = _json(value.to_dict())
        elif _is(value, "EngineArgs", "AsyncEngineArgs"):
            said.update(_engine(value))
        elif _is(value, "PretrainedConfig", "PreTrainedConfig"):
            _, config = config_of(value)
        elif isinstance(value, dict) and any("zero_optimization" in key or "train_" in key for key in value):
            said["deepspeed" if options.get("framework", said.get("framework")) == "transformers" else "strategy"] = json.dumps(value)
        else:
            raise Error(f"a {type(value).__name__} is not understood", command,
                        "TrainingArguments, LoraConfig, BitsAndBytesConfig, PretrainedConfig, EngineArgs or a DeepSpeed dict")
    if ("peft" in said or "quantization" in said) and "framework" not in {**said, **options}:
        said["framework"] = "transformers"
    return model, config, {**said, **options}


class Weights(NamedTuple):
    """Tensors of a module: elements and bytes, those of parameters that are trained, and of buffers. Exact, ties counted once."""

    parameters: int
    parameter_bytes: int
    trainable_bytes: int
    buffer_bytes: int


def weights(module: Any) -> Weights:
    """Counts an nn.Module as it is, on the meta device or any other."""
    seen: Dict[int, Any] = {}  # held, so that no other tensor takes its place in memory
    counts = [0, 0, 0, 0]  # elements, bytes, bytes of the trained, bytes of buffers
    for tensor in module.parameters():
        if id(tensor) in seen:
            continue
        seen[id(tensor)] = tensor
        held = tensor.numel() * tensor.element_size()
        counts[0] += tensor.numel()
        counts[1] += held
        counts[2] += held if tensor.requires_grad else 0
    for tensor in module.buffers():
        if id(tensor) not in seen:
            seen[id(tensor)] = tensor
            counts[3] += tensor.numel() * tensor.element_size()
    return Weights(*counts)
