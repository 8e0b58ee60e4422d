# SPDX-License-Identifier: Apache-2.0
"""transcripts.py: OpenAI's Whisper, trained on sounds and words, and a longer sound written down by its own decoding."""
import torch
import whisper
from whisper.model import ModelDimensions, Whisper

model = Whisper(ModelDimensions(n_mels=80, n_audio_ctx=1500, n_audio_state=128, n_audio_head=2, n_audio_layer=2, n_vocab=51865, n_text_ctx=448,
                                n_text_state=128, n_text_head=2, n_text_layer=2)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    heard = whisper.log_mel_spectrogram(torch.randn(2, 480000, device="cuda"))
    words = torch.randint(0, 50000, (2, 32), device="cuda")
    said = model(heard, words[:, :-1])
    torch.nn.functional.cross_entropy(said.flatten(0, 1), words[:, 1:].flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()
print(model.eval().transcribe(torch.randn(40 * 16000).numpy(), fp16=False)["language"])
