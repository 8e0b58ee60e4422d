# SPDX-License-Identifier: Apache-2.0
"""pytorch-tabnet: its classifier with early stopping, unsupervised first."""
import numpy
from pytorch_tabnet.pretraining import TabNetPretrainer
from pytorch_tabnet.tab_model import TabNetClassifier

noise = numpy.random.default_rng(0)
rows, labels = noise.normal(size=(512, 12)).astype("float32"), noise.integers(0, 3, 512)
first = TabNetPretrainer(device_name="cuda", verbose=0)
first.fit(rows, max_epochs=1, batch_size=128, virtual_batch_size=64)
model = TabNetClassifier(device_name="cuda", verbose=0)
model.fit(rows, labels, eval_set=[(rows, labels)], max_epochs=2, batch_size=128, virtual_batch_size=64, from_unsupervised=first)
print(model.predict(rows).shape)
