# SPDX-License-Identifier: Apache-2.0
"""Tianshou: deep Q learning on a game, by its own trainer's parts."""
import gymnasium
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.utils.net.common import Net

games = DummyVectorEnv([lambda: gymnasium.make("CartPole-v1") for _ in range(4)])
net = Net(state_shape=(4,), action_shape=2, hidden_sizes=[64, 64]).to("cuda")
policy = DiscreteQLearningPolicy(model=net, action_space=gymnasium.make("CartPole-v1").action_space, eps_training=0.1)
algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.99, n_step_return_horizon=3, target_update_freq=10).to("cuda")
kept = VectorReplayBuffer(512, 4)
collector = Collector(algorithm, games, kept, exploration_noise=True)
collector.reset()
from tianshou.utils.torch_utils import policy_within_training_step

with policy_within_training_step(policy):
    collector.collect(n_step=128)
    for _ in range(3):
        algorithm.update(buffer=kept, sample_size=32)
print(torch.cuda.memory_allocated() > 0)
