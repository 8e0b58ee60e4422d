# SPDX-License-Identifier: Apache-2.0
"""GPyTorch: an exact Gaussian process by Cholesky factors, and a variational one in batches."""
import gpytorch
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import RBFKernel, ScaleKernel


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean, self.kernel = gpytorch.means.ConstantMean(), ScaleKernel(RBFKernel())

    def forward(self, x):
        return MultivariateNormal(self.mean(x), self.kernel(x))


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, inducing):
        chosen = gpytorch.variational.CholeskyVariationalDistribution(len(inducing))
        super().__init__(gpytorch.variational.VariationalStrategy(self, inducing, chosen, learn_inducing_locations=True))
        self.mean, self.kernel = gpytorch.means.ConstantMean(), ScaleKernel(RBFKernel())

    def forward(self, x):
        return MultivariateNormal(self.mean(x), self.kernel(x))


x, y = torch.rand(400, 3).cuda(), torch.randn(400).cuda()
likelihood = gpytorch.likelihoods.GaussianLikelihood().cuda()
exact, variational = Exact(x, y, likelihood).cuda(), Variational(x[:32].clone()).cuda()
bounds = (gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, exact), gpytorch.mlls.VariationalELBO(likelihood, variational, 400))
for model, bound in zip((exact, variational), bounds):
    optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (-bound(model(x), y)).sum().backward()
        optimizer.step()
exact.eval()
likelihood.eval()
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    print(likelihood(exact(torch.rand(50, 3).cuda())).variance.shape)
