# SPDX-License-Identifier: Apache-2.0
"""material.py FOLDER: small models with random weights, and small data, for the programs of the register. Nothing is downloaded."""
import json
import os
import pathlib
import random
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (LlamaConfig, LlamaForCausalLM, MixtralConfig, MixtralForCausalLM, PreTrainedTokenizerFast, Qwen3Config,
                          Qwen3ForCausalLM)

folder = pathlib.Path(sys.argv[1])
chance = random.Random(0)
WORDS = ["".join(chance.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(chance.randint(2, 8))) for _ in range(800)]
TEMPLATE = ("{% for m in messages %}<|im_start|>{{m['role']}}\n{{m['content']}}<|im_end|>\n{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def sentence(words):
    return " ".join(chance.choice(WORDS) for _ in range(words)) + "."


def rows(name, make, count=128):
    path = folder / name
    path.mkdir(parents=True, exist_ok=True)
    (path / "train.jsonl").write_text("".join(json.dumps(make()) + "\n" for _ in range(count)))


def texts():
    rows("text", lambda: {"text": sentence(chance.randint(50, 200))})
    rows("chat", lambda: {"messages": [{"role": "user", "content": sentence(20)},
                                       {"role": "assistant", "content": sentence(chance.randint(20, 80))}]})
    rows("preferences", lambda: {"prompt": sentence(20), "chosen": sentence(60), "rejected": sentence(chance.randint(30, 60))})
    rows("prompts", lambda: {"prompt": [{"role": "user", "content": sentence(20)}]})


def tokenizer():
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<pad>"]
    made.train_from_iterator([sentence(100) for _ in range(400)], trainers.BpeTrainer(
        vocab_size=2040, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    fast = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>", bos_token="<|endoftext|>", pad_token="<pad>",
                                   unk_token="<|endoftext|>")
    fast.chat_template = TEMPLATE
    return fast


def language_models():
    words = tokenizer()
    sizes = dict(hidden_size=512, intermediate_size=1536, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4,
                 vocab_size=2048, max_position_embeddings=2048, pad_token_id=3, eos_token_id=2, bos_token_id=0)
    for name, model in (("llama", LlamaForCausalLM(LlamaConfig(**sizes))), ("qwen3", Qwen3ForCausalLM(Qwen3Config(head_dim=64, **sizes))),
                        ("mixtral", MixtralForCausalLM(MixtralConfig(**{**sizes, "intermediate_size": 512}, num_local_experts=8)))):
        model.bfloat16().save_pretrained(folder / name)
        words.save_pretrained(folder / name)


def pictures():
    """Boxes in YOLO's layout, and class folders."""
    noise = numpy.random.default_rng(0)
    for split in ("train", "val"):
        for i in range(16):
            picture = Image.fromarray(noise.integers(0, 255, (160, 160, 3), dtype=numpy.uint8))
            for place in (folder / "boxes/images" / split, folder / "classes" / split / str(i % 2)):
                place.mkdir(parents=True, exist_ok=True)
                picture.save(place / ("%d.jpg" % i))
            labels = folder / "boxes/labels" / split
            labels.mkdir(parents=True, exist_ok=True)
            (labels / ("%d.txt" % i)).write_text("0 0.5 0.5 0.4 0.4\n1 0.3 0.3 0.2 0.2\n")
            outlines = folder / "polygons/labels" / split
            outlines.mkdir(parents=True, exist_ok=True)
            (outlines / ("%d.txt" % i)).write_text("0 0.3 0.3 0.7 0.3 0.7 0.7 0.3 0.7\n1 0.2 0.2 0.4 0.2 0.3 0.4\n")
            (folder / "polygons/images" / split).mkdir(parents=True, exist_ok=True)
            picture.save(folder / "polygons/images" / split / ("%d.jpg" % i))
    for kind in ("boxes", "polygons"):
        (folder / (kind + ".yaml")).write_text("path: %s\ntrain: images/train\nval: images/val\nnames: {0: a, 1: b}\n" % (folder / kind).resolve())
    rows_of = ["filepath\ttitle"] + ["%s\t%s" % (folder.resolve() / ("boxes/images/train/%d.jpg" % i), sentence(6)) for i in range(16)]
    (folder / "captions.csv").write_text("\n".join(rows_of) + "\n")


def molecules():
    """Chains of carbon, nitrogen and oxygen with a number, as SMILES and as places in space with energies and forces."""
    rows_of, frames = ["smiles,value"], []
    for i in range(60):
        chain = "".join(chance.choice("CCNO") for _ in range(chance.randint(3, 8)))
        rows_of.append("C%s,%.3f" % (chain, chance.random()))
        lines = ["%s %s %s" % (atom, " ".join("%.4f" % (1.4 * (at if axis == 0 else 0) + chance.random() / 4) for axis in range(3)),
                               " ".join("%.4f" % (chance.random() - 0.5) for _ in range(3))) for at, atom in enumerate("C" + chain)]
        frames.append("%d\nProperties=species:S:1:pos:R:3:REF_forces:R:3 REF_energy=%.4f pbc=\"F F F\"\n%s\n" % (
            len(lines), -100 * len(lines) - chance.random(), "\n".join(lines)))
    (folder / "molecules.csv").write_text("\n".join(rows_of) + "\n")
    (folder / "molecules.xyz").write_text("".join(frames))


texts()
language_models()
pictures()
molecules()
