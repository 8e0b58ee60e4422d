# SPDX-License-Identifier: Apache-2.0
"""torchaudio: spectrograms on the device, a Conformer under the transducer's loss, Demucs and Tacotron 2."""
import torch
import torchaudio

mel = torchaudio.transforms.MelSpectrogram(16000, n_mels=80).cuda()
emphasis = torchaudio.transforms.SpecAugment(2, 10, 2, 10).cuda() if hasattr(torchaudio.transforms, "SpecAugment") else torch.nn.Identity()
conformer = torchaudio.models.Conformer(80, 4, 128, 2, 31).cuda()
letters = torch.nn.Linear(80, 30).cuda()
demucs = torchaudio.models.hdemucs_low(["drums", "voice"]).cuda()
tacotron = torchaudio.models.Tacotron2(n_symbol=40).cuda()
optimizer = torch.optim.AdamW([*conformer.parameters(), *letters.parameters(), *demucs.parameters(), *tacotron.parameters()])
for _ in range(2):
    heard = emphasis(mel(torch.randn(2, 16000, device="cuda"))).transpose(1, 2)
    lengths = torch.tensor([heard.shape[1], heard.shape[1] - 20], device="cuda")
    encoded, lengths = conformer(heard, lengths)
    scores = letters(encoded).log_softmax(-1).transpose(0, 1)
    loss = torch.nn.functional.ctc_loss(scores, torch.randint(1, 30, (2, 10), device="cuda"), lengths, torch.tensor([10, 8], device="cuda"))
    loss = loss + demucs(torch.randn(1, 2, 44100, device="cuda")).square().mean()
    made = tacotron(torch.randint(0, 40, (2, 12), device="cuda"), torch.tensor([12, 9], device="cuda"), torch.randn(2, 80, 20, device="cuda"),
                    torch.tensor([20, 15], device="cuda"))
    (loss + made[1].square().mean()).backward()
    optimizer.step()
    optimizer.zero_grad()
