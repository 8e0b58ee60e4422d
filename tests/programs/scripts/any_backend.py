# SPDX-License-Identifier: Apache-2.0
"""Keras over torch: its functional model, fit, evaluate and predict."""
import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy

noise = numpy.random.default_rng(0)
into = keras.Input((16, 16, 3))
out = keras.layers.Conv2D(16, 3, activation="relu")(into)
out = keras.layers.BatchNormalization()(keras.layers.MaxPooling2D()(out))
out = keras.layers.Dense(4, activation="softmax")(keras.layers.Dropout(0.2)(keras.layers.Flatten()(out)))
model = keras.Model(into, out)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
x, y = noise.normal(size=(64, 16, 16, 3)).astype("float32"), noise.integers(0, 4, 64)
model.fit(x, y, batch_size=16, epochs=1, validation_split=0.25, verbose=0)
print(model.evaluate(x, y, verbose=0), model.predict(x[:2], verbose=0).shape)
