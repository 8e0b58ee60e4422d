# SPDX-License-Identifier: Apache-2.0
"""diffusion.py MODEL: diffusers' UNet, or LoRA on a small SD3 or Flux transformer; noise is predicted, three steps."""
import sys

import torch
from diffusers import DDPMScheduler, FluxTransformer2DModel, SD3Transformer2DModel, UNet2DModel
from peft import LoraConfig


def unet():
    model = UNet2DModel(32, block_out_channels=(32, 64), down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                        up_block_types=("AttnUpBlock2D", "UpBlock2D"), layers_per_block=1, norm_num_groups=8).cuda()
    scheduler = DDPMScheduler()

    def step():
        clean, noise = torch.randn(4, 3, 32, 32, device="cuda"), torch.randn(4, 3, 32, 32, device="cuda")
        times = torch.randint(0, 1000, (4,), device="cuda")
        return model(scheduler.add_noise(clean, noise, times), times).sample, noise
    return model, step


def sd3():
    model = SD3Transformer2DModel(sample_size=16, patch_size=2, in_channels=4, num_layers=2, attention_head_dim=16, num_attention_heads=4,
                                  joint_attention_dim=64, caption_projection_dim=64, pooled_projection_dim=32, out_channels=4).cuda()

    def step():
        image = torch.randn(2, 4, 16, 16, device="cuda")
        out = model(hidden_states=image, encoder_hidden_states=torch.randn(2, 10, 64, device="cuda"),
                    pooled_projections=torch.randn(2, 32, device="cuda"), timestep=torch.randint(0, 1000, (2,), device="cuda")).sample
        return out, image
    return model, step


def flux():
    model = FluxTransformer2DModel(patch_size=1, in_channels=16, num_layers=1, num_single_layers=1, attention_head_dim=16,
                                   num_attention_heads=4, joint_attention_dim=64, pooled_projection_dim=32, axes_dims_rope=(4, 4, 8),
                                   guidance_embeds=True).cuda()

    def step():
        image = torch.randn(2, 64, 16, device="cuda")
        out = model(hidden_states=image, encoder_hidden_states=torch.randn(2, 10, 64, device="cuda"),
                    pooled_projections=torch.randn(2, 32, device="cuda"), timestep=torch.rand(2, device="cuda"),
                    img_ids=torch.zeros(64, 3, device="cuda"), txt_ids=torch.zeros(10, 3, device="cuda"),
                    guidance=torch.ones(2, device="cuda")).sample
        return out, image
    return model, step


model, step = {"unet": unet, "sd3": sd3, "flux": flux}[sys.argv[1]]()
if sys.argv[1] != "unet":
    model.requires_grad_(False)
    model.add_adapter(LoraConfig(r=4, target_modules=["to_q", "to_k", "to_v", "to_out.0"]))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
for _ in range(3):
    with torch.autocast("cuda", torch.bfloat16):
        found, right = step()
        loss = torch.nn.functional.mse_loss(found.float(), right)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
