# SPDX-License-Identifier: Apache-2.0
"""next_point.py: BoTorch: a Gaussian process is fitted, and where it says to look next is optimized."""
import torch
from botorch.acquisition import qLogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

places = torch.rand(12, 2, device="cuda", dtype=torch.double)
found = places.sum(-1, keepdim=True).sin()
model = SingleTaskGP(places, found)
fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model), optimizer_kwargs={"options": {"maxiter": 5}})
bounds = torch.stack([torch.zeros(2), torch.ones(2)]).to(places)
optimize_acqf(qLogExpectedImprovement(model, best_f=found.max()), bounds=bounds, q=1, num_restarts=2, raw_samples=8, options={"maxiter": 3})
