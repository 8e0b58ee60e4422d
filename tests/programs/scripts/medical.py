# SPDX-License-Identifier: Apache-2.0
"""MONAI: Swin UNETR on volumes with its own loss, then a sliding window and its metric."""
import torch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss
from monai.metrics import DiceMetric
from monai.networks.nets import SwinUNETR

model = SwinUNETR(in_channels=1, out_channels=3, feature_size=12, use_checkpoint=True).cuda()
loss_of, dice = DiceCELoss(to_onehot_y=True, softmax=True), DiceMetric(include_background=False)
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.amp.GradScaler("cuda")
for _ in range(3):
    volume, labels = torch.randn(1, 1, 64, 64, 64, device="cuda"), torch.randint(0, 3, (1, 1, 64, 64, 64), device="cuda")
    with torch.autocast("cuda"):
        loss = loss_of(model(volume), labels)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
model.eval()
with torch.no_grad():
    found = sliding_window_inference(torch.randn(1, 1, 80, 64, 64, device="cuda"), (64, 64, 64), 2, model)
    dice(torch.nn.functional.one_hot(found.argmax(1), 3).movedim(-1, 1), torch.nn.functional.one_hot(found.argmax(1), 3).movedim(-1, 1))
print(float(dice.aggregate()))
