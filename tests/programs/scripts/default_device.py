# SPDX-License-Identifier: Apache-2.0
"""default_device.py: programs that make every tensor on the device by torch.set_default_device: Pyro's variational inference, and
DeepXDE's network for a differential equation, whose Adam counts its steps there."""
import os

os.environ["DDE_BACKEND"] = "pytorch"
import deepxde
import pyro
import torch
from pyro.infer import SVI, Trace_ELBO
from pyro.infer.autoguide import AutoNormal

torch.set_default_device("cuda")
seen = torch.randn(64, 3)
heights = seen @ torch.tensor([1.0, 2.0, 3.0])


def regression(x, y):
    weights = pyro.sample("weights", pyro.distributions.Normal(torch.zeros(3), 1.0).to_event(1))
    spread = pyro.sample("spread", pyro.distributions.HalfNormal(1.0))
    with pyro.plate("rows", len(x)):
        pyro.sample("heights", pyro.distributions.Normal(x @ weights, spread), obs=y)


inference = SVI(regression, AutoNormal(regression), pyro.optim.Adam({"lr": 0.01}), Trace_ELBO())
for _ in range(5):
    inference.step(seen, heights)

line = deepxde.geometry.Interval(-1, 1)
ends = deepxde.icbc.DirichletBC(line, lambda x: 0, lambda x, on_boundary: on_boundary)
equation = deepxde.data.PDE(line, lambda x, y: -deepxde.grad.hessian(y, x) - torch.sin(x), ends, 16, 2, num_test=20)
model = deepxde.Model(equation, deepxde.nn.FNN([1, 20, 20, 20, 1], "tanh", "Glorot uniform"))
model.compile("adam", lr=1e-3)
model.train(iterations=5)
