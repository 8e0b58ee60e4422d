# SPDX-License-Identifier: Apache-2.0
"""fair-esm: ESM-2 under a masked language model's loss, with the contacts that it predicts."""
import esm
import torch

alphabet = esm.data.Alphabet.from_architecture("ESM-1b")
model = esm.ESM2(num_layers=3, embed_dim=120, attention_heads=4, alphabet=alphabet).cuda()
optimizer = torch.optim.AdamW(model.parameters())
convert = alphabet.get_batch_converter()
_, _, tokens = convert([("a", "MKTVRQERLKSIVRILERSKEPVSGAQLAEELSVSRQVIVQDIAYLRSLGYNIVATPRGYVLAGG"), ("b", "KALTARQQEVFDLIRDHISQTGMPPTRAEIAQRLG")])
for _ in range(3):
    ids = tokens.cuda()
    masked = (torch.rand(ids.shape, device="cuda") < 0.15) & (ids > 3)
    scores = model(ids.masked_fill(masked, alphabet.mask_idx), repr_layers=[3])["logits"]
    torch.nn.functional.cross_entropy(scores[masked], ids[masked]).backward()
    optimizer.step()
    optimizer.zero_grad()
model.eval()
with torch.no_grad():
    print(model(tokens.cuda(), return_contacts=True)["contacts"].shape)
