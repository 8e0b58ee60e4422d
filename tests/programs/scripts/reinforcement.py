# SPDX-License-Identifier: Apache-2.0
"""reinforcement.py NAME: an algorithm of stable-baselines3 on one of gymnasium's games."""
import sys

import stable_baselines3

game = "Pendulum-v1" if sys.argv[1] == "SAC" else "CartPole-v1"
kept = {"n_steps": 64} if sys.argv[1] in ("PPO", "A2C") else {"learning_starts": 32}
model = getattr(stable_baselines3, sys.argv[1])("MlpPolicy", game, device="cuda", seed=1, **kept)
model.learn(128)
