# SPDX-License-Identifier: Apache-2.0
"""What people hold in their hands, as a request: configurations of transformers, peft, bitsandbytes, DeepSpeed and vLLM, and
modules. Known by the names of their classes, so that none of these packages has to be there. An object sets what it says and nothing
else: a LoraConfig the adapters, TrainingArguments (which only Trainer takes) Trainer as well, a DeepSpeed configuration DeepSpeed."""
import dataclasses
import json
from typing import Any, Dict, Mapping, Sequence, Tuple

from ._error import Error

Fields = Dict[str, Any]

_DTYPES = {"torch.float32": "fp32", "torch.bfloat16": "bf16", "torch.float16": "fp16"}

# Where files go, what is logged and when, how fast is learned: nothing that memory depends on.
_NO_MEMORY = frozenset(
    "output_dir logging_dir run_name hub_model_id hub_token hub_strategy report_to local_rank ddp_backend data_seed seed log_level "
    "logging_steps logging_strategy logging_first_step save_steps save_strategy save_total_limit push_to_hub disable_tqdm use_cpu no_cuda "
    "accelerator_config parallelism_config deepspeed_plugin distributed_state mp_parameters lr_scheduler_type lr_scheduler_kwargs "
    "warmup_steps warmup_ratio num_train_epochs max_steps learning_rate weight_decay adam_beta1 adam_beta2 adam_epsilon "
    "remove_unused_columns dataloader_num_workers project trackio_space_id overwrite_output_dir ignore_data_skip".split())

# The same of vLLM's EngineArgs.
_NO_SERVER_MEMORY = frozenset(
    "model tokenizer served_model_name tokenizer_mode trust_remote_code download_dir seed revision code_revision tokenizer_revision "
    "disable_log_stats disable_log_requests enable_log_requests use_tqdm_on_load allowed_local_media_path hf_token "
    "show_hidden_metrics_for_version collect_detailed_traces otlp_traces_endpoint max_logprobs aggregate_engine_logging".split())


def _is(value: Any, *names: str) -> bool:
    return any(base.__name__ in names for base in type(value).__mro__)


def _word(value: Any) -> Any:
    """An enumeration by its value, a dtype by its name."""
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    text = str(value)
    return text[6:] if text.startswith("torch.") else getattr(value, "value", text)


def _json(fields: Any) -> str:
    return json.dumps(fields, default=_word)


def plain_object(value: Any) -> Any:
    """A value of an option that is neither a number nor a text nor made of those."""
    if hasattr(value, "to_dict"):
        return json.loads(_json(value.to_dict()))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return json.loads(_json(dataclasses.asdict(value)))
    plain = _word(value)
    if hasattr(value, "value") or str(value).startswith("torch."):
        return plain
    raise Error(f"a {type(value).__name__} is no value of an option", "options", "a text, a number, a list or a mapping")


def _is_config(value: Any) -> bool:
    return _is(value, "PretrainedConfig", "PreTrainedConfig")


def _config(config: Any) -> Tuple[str, Fields]:
    """Name and config.json, which leaves out a dtype that is not known (PretrainedConfig.to_json_string)."""
    fields: Fields = json.loads(_json(config.to_dict()))
    for name in ("dtype", "torch_dtype"):
        if name in fields and fields[name] is None:
            del fields[name]
    return getattr(config, "_name_or_path", "") or "config", fields


def _optimizer(optimizer: Any) -> Fields:
    """A torch.optim object by its class, and which of torch's implementations it takes."""
    group = optimizer.param_groups[0]
    name = type(optimizer).__name__.lower()
    if name == "sgd" and group.get("momentum"):
        name = "sgd-momentum"
    implementations = {"fused": group.get("fused"), "foreach": group.get("foreach")}
    said: Fields = {"optimizer": name}
    for implementation, chosen in implementations.items():
        if chosen:
            said["optimizer_impl"] = implementation
    if implementations["foreach"] is False and not implementations["fused"]:
        said["optimizer_impl"] = "for-loop"
    return said


def _module(module: Any, options: Mapping[str, Any]) -> Tuple[str, Fields, Fields]:
    """Name, config.json and what else a model says: its adapter, what is frozen, the dtype that its parameters are held in."""
    said: Fields = {}
    if hasattr(module, "peft_config") and hasattr(module, "get_base_model"):
        adapters = module.peft_config
        active = getattr(module, "active_adapter", None)
        said["peft"] = _json(adapters[active if active in adapters else next(iter(adapters))].to_dict())
        module = module.get_base_model()
    elif hasattr(module, "named_parameters"):
        frozen = [name for name, tensor in module.named_parameters() if not tensor.requires_grad]
        if frozen and "freeze" not in options:
            said["freeze"] = frozen
    config = getattr(module, "config", None)
    if config is None or not hasattr(config, "to_dict"):
        raise Error(f"a {type(module).__name__} has no configuration", "model",
                    "a transformers model; memtape.weights() counts the tensors of any module, `memtape run` runs any program")
    quantized = getattr(config, "quantization_config", None) is not None
    if quantized:
        said["packed"] = True
    first = next(iter(module.parameters()), None) if hasattr(module, "parameters") else None
    if first is not None and not quantized and str(first.dtype) in _DTYPES:
        said["dtype"] = _DTYPES[str(first.dtype)]
    return (*_config(config), said)


def _changed(value: Any, left_out: "frozenset[str]") -> Fields:
    """The fields of a dataclass that are not at their defaults."""
    changed: Fields = {}
    for field in dataclasses.fields(value):
        if not field.init or field.name in left_out or field.name.startswith("_"):
            continue
        default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        now = getattr(value, field.name)
        if now is not None and now != default:
            changed[field.name] = now
    return changed


def _arguments(value: Any) -> Fields:
    options: Fields = {"framework": "transformers"}
    if hasattr(value, "optim"):  # its default changes from release to release
        options["optim"] = getattr(value.optim, "value", value.optim)
    for name, now in _changed(value, _NO_MEMORY).items():
        plain = getattr(now, "value", now)
        if name in ("fsdp", "debug") and isinstance(plain, (list, tuple)):
            plain = " ".join(str(getattr(item, "value", item)) for item in plain)
        if plain not in ("", [], {}):
            # transformers 5.21 took its word for it up; the old one means the same.
            options[name.replace("activation_checkpointing", "gradient_checkpointing")] = plain
    if "fsdp" not in options:
        options.pop("fsdp_config", None)  # __post_init__ fills it in, and nothing reads it without fsdp
    return options


def _engine(value: Any) -> Fields:
    from .options import SERVE

    options: Fields = {"engine": "vllm"}
    for name, now in _changed(value, _NO_SERVER_MEMORY).items():
        if name not in SERVE:
            raise Error(f"EngineArgs.{name} is not understood", "serve", "memtape.launch('vllm serve MODEL ...') knows all of vLLM's flags")
        options[name] = now
    return options


def _deepspeed(value: Mapping[str, Any], framework: Any) -> Fields:
    if framework == "transformers":
        return {"deepspeed": json.dumps(value)}
    return {"framework": "deepspeed", "strategy": json.dumps(value)}


def _is_deepspeed(value: Any) -> bool:
    return isinstance(value, Mapping) and any(key == "zero_optimization" or key.startswith("train_") for key in map(str, value))


def _said_by(value: Any, command: str, framework: Any) -> Fields:
    if _is(value, "TrainingArguments"):
        return _arguments(value)
    if _is(value, "LoraConfig", "PeftConfig"):
        return {"peft": _json(value.to_dict())}
    if _is(value, "BitsAndBytesConfig", "QuantizationConfigMixin"):
        return {"quantization": _json(value.to_dict())}
    if _is(value, "EngineArgs", "AsyncEngineArgs"):
        return _engine(value)
    if _is(value, "Optimizer") and hasattr(value, "param_groups"):
        return _optimizer(value)
    if _is_deepspeed(value):
        return _deepspeed(value, framework)
    raise Error(f"a {type(value).__name__} is not understood", command,
                "TrainingArguments, LoraConfig, BitsAndBytesConfig, PretrainedConfig, a torch optimizer, EngineArgs or a DeepSpeed dict")


def _with_dtype(options: Fields, dtype: str, command: str) -> Fields:
    """The dtype that a model's parameters are held in, where no option says otherwise."""
    if command.endswith("serve"):
        return options
    name = "weights" if options.get("framework") == "transformers" or "precision" in options else "precision"
    return options if name in options else {**options, name: dtype}


def understand(command: str, model: Any, held: Sequence[Any], config: Any, options: Fields) -> Tuple[Any, Any, Fields]:
    """model, config and options with what `model` and `held` say; a keyword goes before what an object says."""
    said: Fields = {}
    if _is(model, "EngineArgs", "AsyncEngineArgs"):
        held, model = (model, *held), model.model
    elif _is_config(model):
        model, config = _config(model)
    elif model is not None and not isinstance(model, str) and not hasattr(model, "__fspath__"):
        model, config, said = _module(model, options)
    dtype, packed = said.pop("dtype", None), said.pop("packed", False)
    for value in sorted(held, key=_is_deepspeed):  # a DeepSpeed dict means Trainer's where there are TrainingArguments
        if _is_config(value):
            _, config = _config(value)
        else:
            said.update(_said_by(value, command, options.get("framework", said.get("framework"))))
    if isinstance(said.get("optimizer"), str) and "optimizer" in options:
        said.pop("optimizer_impl", None)
    options = {**said, **options}
    if packed and command.endswith("train") and "framework" not in options:
        raise Error("the model holds quantized weights, which a plain loop is not modelled with", "model", 'framework="transformers"')
    return model, config, _with_dtype(options, dtype, command) if dtype else options
