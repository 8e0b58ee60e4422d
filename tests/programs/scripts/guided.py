# SPDX-License-Identifier: Apache-2.0
"""diffusers' ControlNet beside a frozen UNet, and a VAE with its discriminator-free loss; moving averages and 8-step noise."""
import torch
from diffusers import AutoencoderKL, ControlNetModel, DDPMScheduler, UNet2DConditionModel
from diffusers.optimization import get_scheduler
from diffusers.training_utils import EMAModel, compute_snr

unet = UNet2DConditionModel(sample_size=16, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=32, attention_head_dim=8,
                            down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), norm_num_groups=8).cuda()
control = ControlNetModel.from_unet(unet).cuda()
vae = AutoencoderKL(block_out_channels=(32,), norm_num_groups=8, latent_channels=4, sample_size=32).cuda()
unet.requires_grad_(False)
control.enable_gradient_checkpointing()
noise_of = DDPMScheduler()
optimizer = torch.optim.AdamW([*control.parameters(), *vae.parameters()])
rates, average = get_scheduler("cosine", optimizer, num_warmup_steps=1, num_training_steps=3), EMAModel(control.parameters())
average.to("cuda")
for _ in range(3):
    pixels = torch.randn(2, 3, 16, 16, device="cuda")
    encoded = vae.encode(pixels).latent_dist
    latents = encoded.sample()
    noise, times = torch.randn_like(latents), torch.randint(0, 1000, (2,), device="cuda")
    noisy, words = noise_of.add_noise(latents, noise, times), torch.randn(2, 8, 32, device="cuda")
    down, middle = control(noisy, times, encoder_hidden_states=words, controlnet_cond=torch.randn(2, 3, 128, 128, device="cuda"), return_dict=False)
    made = unet(noisy, times, encoder_hidden_states=words, down_block_additional_residuals=down, mid_block_additional_residual=middle).sample
    weights = torch.stack([compute_snr(noise_of, times), torch.full((2,), 5.0, device="cuda")], 1).min(1)[0]
    loss = ((made - noise).square().mean((1, 2, 3)) * weights).mean() + (vae.decode(latents).sample - pixels).square().mean() + encoded.kl().mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(control.parameters(), 1.0)
    optimizer.step()
    rates.step()
    optimizer.zero_grad()
    average.step(control.parameters())
