# SPDX-License-Identifier: Apache-2.0
"""solvers.py: torchdiffeq, whose steps depend on errors that nobody knows, through the solver and by its adjoint."""
import torch
from torchdiffeq import odeint, odeint_adjoint


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(2, 50), torch.nn.Tanh(), torch.nn.Linear(50, 2))

    def forward(self, time, place):
        return self.layers(place)


field = Field().cuda()
optimizer = torch.optim.RMSprop(field.parameters())
times = torch.linspace(0, 1, 10, device="cuda")
for method, solve in (("dopri5", odeint), ("rk4", odeint), ("dopri5", odeint_adjoint)):
    for _ in range(3):
        solve(field, torch.randn(20, 2, device="cuda"), times, method=method).abs().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
