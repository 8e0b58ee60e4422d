# SPDX-License-Identifier: Apache-2.0
"""TorchRL: proximal policy optimization on a game, its collector, its replay buffer and its loss, on the device."""
import torch
from tensordict.nn import TensorDictModule
from tensordict.nn.distributions import NormalParamExtractor
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.data.replay_buffers.samplers import SamplerWithoutReplacement
from torchrl.envs import GymEnv, TransformedEnv
from torchrl.envs.transforms import Compose, DoubleToFloat, StepCounter
from torchrl.modules import ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

game = TransformedEnv(GymEnv("Pendulum-v1", device="cuda"), Compose(DoubleToFloat(), StepCounter()))
nets = [torch.nn.Sequential(torch.nn.LazyLinear(64), torch.nn.Tanh(), torch.nn.Linear(64, out)).cuda() for out in (2, 1)]
policy = TensorDictModule(torch.nn.Sequential(nets[0], NormalParamExtractor()), ["observation"], ["loc", "scale"])
actor = ProbabilisticActor(policy, spec=game.action_spec, in_keys=["loc", "scale"], distribution_class=TanhNormal, return_log_prob=True,
                           distribution_kwargs={"low": -2.0, "high": 2.0})
critic = ValueOperator(nets[1], in_keys=["observation"])
actor(game.reset())
critic(game.reset())
collector = Collector(game, actor, frames_per_batch=64, total_frames=128, device="cuda")
advantage, losses = GAE(gamma=0.99, lmbda=0.95, value_network=critic), ClipPPOLoss(actor, critic)
kept = TensorDictReplayBuffer(storage=LazyTensorStorage(64), sampler=SamplerWithoutReplacement())
optimizer = torch.optim.Adam(losses.parameters())
for batch in collector:
    advantage(batch)
    kept.extend(batch.reshape(-1).cpu())
    for _ in range(2):
        found = losses(kept.sample(32).to("cuda"))
        (found["loss_objective"] + found["loss_critic"] + found["loss_entropy"]).backward()
        optimizer.step()
        optimizer.zero_grad()
collector.shutdown()
