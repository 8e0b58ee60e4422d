# SPDX-License-Identifier: Apache-2.0
"""tasks.py NAME FOLDER: transformers' Trainer on a task of its example scripts, with the data that folder has."""
import sys

import datasets
import torch
import transformers
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, Trainer, TrainingArguments

name, folder = sys.argv[1:]
words = transformers.AutoTokenizer.from_pretrained(folder + "/llama")
text = [row["text"] for row in datasets.load_dataset("json", data_files=folder + "/text/train.jsonl", split="train")][:32]
ids = [words(line, truncation=True, max_length=96)["input_ids"] for line in text]
small = {"vocab_size": 2048, "pad_token_id": 3}
tiny = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256}
kept = dict(output_dir="out/tasks_" + name, per_device_train_batch_size=4, per_device_eval_batch_size=4, max_steps=3, report_to="none",
            eval_strategy="steps", eval_steps=3, save_strategy="no")
pictures = [{"pixel_values": torch.randn(3, 64, 64), "labels": torch.tensor(i % 2)} for i in range(16)]


def masked_words():
    words.add_special_tokens({"mask_token": "<mask>"})
    model = transformers.BertForMaskedLM(transformers.BertConfig(**{**small, "vocab_size": len(words)}, **tiny))
    collate = transformers.DataCollatorForLanguageModeling(words, mlm_probability=0.15)
    return Trainer(model, TrainingArguments(**kept, fp16=True), train_dataset=[{"input_ids": i} for i in ids],
                   eval_dataset=[{"input_ids": i} for i in ids[:4]], data_collator=collate)


def summaries():
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**small, d_model=128, d_kv=32, d_ff=256, num_layers=2, num_heads=4,
                                                                         decoder_start_token_id=3))
    rows = [{"input_ids": i, "labels": i[:20]} for i in ids]
    return Seq2SeqTrainer(model, Seq2SeqTrainingArguments(**kept, predict_with_generate=True, generation_max_length=12, label_smoothing_factor=0.1),
                          train_dataset=rows, eval_dataset=rows[:4], data_collator=transformers.DataCollatorForSeq2Seq(words, model),
                          compute_metrics=lambda found: {"length": float((found.predictions != 3).sum(-1).mean())})


def heard_words():
    model = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(
        vocab_size=2048, d_model=128, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=256,
        decoder_ffn_dim=256, max_source_positions=100, decoder_start_token_id=3, pad_token_id=3, bos_token_id=0, eos_token_id=2,
        suppress_tokens=None, begin_suppress_tokens=None))
    rows = [{"input_features": torch.randn(80, 200), "labels": torch.tensor(i[:16])} for i in ids]
    return Seq2SeqTrainer(model, Seq2SeqTrainingArguments(**kept, bf16=True, gradient_checkpointing=True), train_dataset=rows, eval_dataset=rows[:4])


def classes():
    model = transformers.ViTForImageClassification(transformers.ViTConfig(**tiny, image_size=64, num_labels=2))
    return Trainer(model, TrainingArguments(**kept, torch_compile=False, optim="adafactor"), train_dataset=pictures, eval_dataset=pictures[:4])


def segments():
    model = transformers.SegformerForSemanticSegmentation(transformers.SegformerConfig(num_labels=3, depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 64, 128]))
    rows = [{"pixel_values": torch.randn(3, 64, 64), "labels": torch.randint(0, 3, (64, 64))} for _ in range(16)]
    return Trainer(model, TrainingArguments(**kept), train_dataset=rows, eval_dataset=rows[:4])


def masked_pictures():
    model = transformers.ViTMAEForPreTraining(transformers.ViTMAEConfig(**tiny, image_size=64, decoder_hidden_size=64, decoder_num_hidden_layers=1,
                                                                       decoder_num_attention_heads=4, decoder_intermediate_size=128))
    rows = [{"pixel_values": p["pixel_values"]} for p in pictures]
    return Trainer(model, TrainingArguments(**{**kept, "eval_strategy": "no"}), train_dataset=rows)


def series():
    model = transformers.PatchTSTForPrediction(transformers.PatchTSTConfig(num_input_channels=3, context_length=64, prediction_length=16, d_model=32))
    rows = [{"past_values": torch.randn(64, 3), "future_values": torch.randn(16, 3)} for _ in range(16)]
    return Trainer(model, TrainingArguments(**{**kept, "eval_strategy": "no"}), train_dataset=rows)


trainer = globals()[name]()
trainer.train()
trainer.evaluate() if trainer.eval_dataset is not None else None
