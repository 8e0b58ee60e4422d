# SPDX-License-Identifier: Apache-2.0
"""denoising.py FOLDER: denoising-diffusion-pytorch's trainer on a folder of pictures, sampling and moving averages included."""
import pathlib
import sys

from denoising_diffusion_pytorch import GaussianDiffusion, Trainer, Unet

model = Unet(dim=16, dim_mults=(1, 2, 4), flash_attn=False)
diffusion = GaussianDiffusion(model, image_size=32, timesteps=100, sampling_timesteps=4)
pictures = pathlib.Path("out/hundred")
pictures.mkdir(parents=True, exist_ok=True)
for i in range(100):
    (pictures / ("%d.jpg" % i)).write_bytes((pathlib.Path(sys.argv[1]) / "boxes/images/train" / ("%d.jpg" % (i % 16))).read_bytes())
trainer = Trainer(diffusion, str(pictures), train_batch_size=4, train_num_steps=4, gradient_accumulate_every=4,
                  save_and_sample_every=2, num_samples=4, results_folder="out/denoising", calculate_fid=False, amp=True)
trainer.train()
