# SPDX-License-Identifier: Apache-2.0
"""sentence_pairs.py FOLDER: sentence-transformers' trainer with in-batch negatives."""
import sys

from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses, models
from transformers import AutoTokenizer, BertConfig, BertModel

AutoTokenizer.from_pretrained(sys.argv[1] + "/llama").save_pretrained("out/bert")
BertModel(BertConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256, vocab_size=2048)).save_pretrained("out/bert")
words = models.Transformer("out/bert", max_seq_length=64)
model = SentenceTransformer(modules=[words, models.Pooling(128)], device="cuda")
pairs = Dataset.from_dict({"anchor": ["a b c %d" % i for i in range(64)], "positive": ["c d e %d" % i for i in range(64)]})
arguments = SentenceTransformerTrainingArguments("out/pairs", per_device_train_batch_size=16, max_steps=3, report_to="none", fp16=True)
SentenceTransformerTrainer(model, arguments, pairs, loss=losses.MultipleNegativesRankingLoss(model)).train()
