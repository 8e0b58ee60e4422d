# SPDX-License-Identifier: Apache-2.0
"""kornia: augmentation and homographies on the device, and LoFTR's matching of two pictures."""
import kornia
import kornia.augmentation as changes
import torch

many = changes.AugmentationSequential(changes.RandomPerspective(p=1.0), changes.RandomAffine(20.0, p=1.0), changes.ColorJiggle(0.1, 0.1, 0.1, 0.1, p=1.0),
                                      changes.RandomErasing(p=0.5), data_keys=["input", "mask"]).cuda()
pictures, masks = torch.rand(2, 3, 64, 64, device="cuda"), torch.rand(2, 1, 64, 64, device="cuda")
net = torch.nn.Conv2d(3, 1, 3, padding=1).cuda()
optimizer = torch.optim.Adam(net.parameters())
for _ in range(3):
    seen, wanted = many(pictures, masks)
    (kornia.losses.ssim_loss(net(seen).sigmoid(), wanted, 5) + kornia.filters.gaussian_blur2d(net(seen), (5, 5), (1.5, 1.5)).mean()).backward()
    optimizer.step()
    optimizer.zero_grad()
points = torch.rand(1, 20, 2, device="cuda") * 64
print(kornia.geometry.homography.find_homography_dlt(points, points + 1).shape)
with torch.no_grad():
    matcher = kornia.feature.LoFTR(pretrained=None).cuda().eval()
    print(matcher({"image0": torch.rand(1, 1, 64, 64, device="cuda"), "image1": torch.rand(1, 1, 64, 64, device="cuda")})["keypoints0"].shape)
