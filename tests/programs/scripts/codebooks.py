# SPDX-License-Identifier: Apache-2.0
"""codebooks.py: vector-quantize-pytorch: codes that begin by k-means and expire, residual ones, ones without a lookup, learnt ones."""
import torch
from ema_pytorch import EMA
from vector_quantize_pytorch import LFQ, ResidualVQ, VectorQuantize

learnt = dict(learnable_codebook=True, ema_update=False, orthogonal_reg_weight=1.0, orthogonal_reg_max_codes=32,
              orthogonal_reg_active_codes_only=True, rotation_trick=True)
for codes in (VectorQuantize(dim=64, codebook_size=128, kmeans_init=True, threshold_ema_dead_code=2),
              ResidualVQ(dim=64, num_quantizers=3, codebook_size=64, kmeans_init=True),
              LFQ(dim=64, codebook_size=256, entropy_loss_weight=0.1), VectorQuantize(dim=64, codebook_size=128, **learnt)):
    encoder, codes = torch.nn.Linear(32, 64).cuda(), codes.cuda()
    optimizer = torch.optim.AdamW([*encoder.parameters(), *codes.parameters()])
    average = EMA(encoder, beta=0.99, update_after_step=1, update_every=1)
    for _ in range(3):
        out = codes(encoder(torch.randn(4, 50, 32, device="cuda")))
        (out[0].pow(2).mean() + out[2].sum()).backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update()
