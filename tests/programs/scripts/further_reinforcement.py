# SPDX-License-Identifier: Apache-2.0
"""further_reinforcement.py NAME: an algorithm of sb3-contrib on the pole, with a recurrent policy where it has one."""
import sys

import sb3_contrib

policy, kept = {"QRDQN": ("MlpPolicy", {"learning_starts": 32}), "RecurrentPPO": ("MlpLstmPolicy", {"n_steps": 64}),
                "TRPO": ("MlpPolicy", {"n_steps": 64})}[sys.argv[1]]
model = getattr(sb3_contrib, sys.argv[1])(policy, "CartPole-v1", device="cuda", seed=1, **kept)
model.learn(128)
