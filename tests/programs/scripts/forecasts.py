# SPDX-License-Identifier: Apache-2.0
"""neuralforecast: NHITS and a temporal fusion transformer on drawn series, then forecasts."""
import pandas
import numpy
from neuralforecast import NeuralForecast
from neuralforecast.models import NHITS, PatchTST

dates = pandas.date_range("2024-01-01", periods=120, freq="D")
series = pandas.concat([pandas.DataFrame({"unique_id": str(i), "ds": dates, "y": numpy.random.default_rng(i).normal(size=120).cumsum()})
                        for i in range(4)])
kept = {"accelerator": "gpu", "devices": 1, "enable_checkpointing": False, "logger": False, "enable_progress_bar": False}
models = NeuralForecast([NHITS(h=12, input_size=24, max_steps=3, **kept), PatchTST(h=12, input_size=24, max_steps=3, patch_len=8, **kept)], freq="D")
models.fit(series)
print(models.predict().shape)
