# SPDX-License-Identifier: Apache-2.0
"""SpeechBrain: a recognizer by its Brain, features on the device."""
import torch
from speechbrain import Brain
from speechbrain.lobes.features import Fbank
from speechbrain.nnet.CNN import Conv1d
from speechbrain.nnet.containers import Sequential
from speechbrain.nnet.linear import Linear
from speechbrain.nnet.losses import ctc_loss
from speechbrain.nnet.RNN import LSTM


class Recognizer(Brain):
    def compute_forward(self, batch, stage):
        sound, lengths, _, _ = (part.to(self.device) for part in batch)
        return self.modules.model(self.modules.features(sound)).log_softmax(-1), lengths

    def compute_objectives(self, predictions, batch, stage):
        scores, lengths = predictions
        return ctc_loss(scores, batch[2].to(self.device), lengths, batch[3].to(self.device), blank_index=0)


model = Sequential(Conv1d(64, 5, input_shape=[None, None, 40]), input_shape=[None, None, 40])
model.append(LSTM(64, input_shape=[None, None, 64], bidirectional=True))
model.append(Linear(30, input_size=128))
modules = {"features": Fbank(sample_rate=16000, n_mels=40), "model": model}
rows = [(torch.randn(4, 16000), torch.tensor([1.0, 0.9, 0.8, 0.7]), torch.randint(1, 30, (4, 12)), torch.ones(4)) for _ in range(3)]
batches = torch.utils.data.DataLoader(rows, batch_size=None)
brain = Recognizer(modules, lambda parameters: torch.optim.Adam(parameters, 1e-3), run_opts={"device": "cuda"})
brain.fit(range(1), batches, batches)
