# SPDX-License-Identifier: Apache-2.0
"""lightning_two.py STRATEGY: Lightning's Trainer on two GPUs, 16-mixed, with logging across ranks and a checkpoint."""
import sys

import lightning
import torch


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))

    def training_step(self, batch, _):
        loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


if __name__ == "__main__":
    data = torch.utils.data.TensorDataset(torch.randn(64, 256), torch.randint(0, 10, (64,)))
    precision = "16-mixed" if sys.argv[1] == "ddp" else "bf16-mixed"
    trainer = lightning.Trainer(accelerator="gpu", devices=2, strategy=sys.argv[1], precision=precision, max_steps=4, logger=False,
                                enable_progress_bar=False, default_root_dir="out/lightning_" + sys.argv[1])
    trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=8))
