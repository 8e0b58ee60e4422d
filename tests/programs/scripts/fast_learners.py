# SPDX-License-Identifier: Apache-2.0
"""fast.py FOLDER: fastai's learners: a U-Net with one cycle in fp16 and its finder of learning rates, and a tabular one."""
import sys

import pandas
import torch
from fastai.tabular.all import Categorify, FillMissing, Normalize, TabularDataLoaders, tabular_learner
from fastai.vision.all import ImageDataLoaders, Resize, accuracy, resnet18, vision_learner

pictures = ImageDataLoaders.from_folder(sys.argv[1] + "/classes", train="train", valid="val", item_tfms=Resize(64), bs=4, num_workers=0, device="cuda")
learner = vision_learner(pictures, resnet18, pretrained=False, metrics=accuracy).to_fp16()
with learner.no_bar(), learner.no_logging():
    learner.fit_one_cycle(1, 1e-3)
rows = pandas.DataFrame({"a": ["x", "y"] * 64, "b": torch.randn(128).numpy(), "label": ["p", "q", "q", "p"] * 32})
tables = TabularDataLoaders.from_df(rows, y_names="label", cat_names=["a"], cont_names=["b"], procs=[Categorify, FillMissing, Normalize], bs=16, device="cuda")
learner = tabular_learner(tables, metrics=accuracy)
with learner.no_bar(), learner.no_logging():
    learner.fit_one_cycle(1)
