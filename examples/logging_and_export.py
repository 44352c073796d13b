"""Each epoch into a CSV file and TensorBoard, and the trained network as ONNX, run without this package."""

import csv
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

import ngm
from ngm.datasets import few_labels, load
from ngm.logs import csv_log, tensorboard_log
from ngm.training import Epoch

digits = load("digits")
x, x_new = digits.x[digits.train], digits.x[digits.test]
y = few_labels(digits.y[digits.train], 5, seed=0)

with tempfile.TemporaryDirectory() as temporary:
    folder = Path(temporary)
    logs = csv_log(folder / "log.csv"), tensorboard_log(folder / "tensorboard")

    def on_epoch(record: Epoch) -> None:
        """Any function will do; this one passes the record on."""
        for log in logs:
            log(record)

    model = ngm.NGMClassifier(hidden=(64,), epochs=10, validation=0.2)
    model.fit(x, y, graph=ngm.knn_graph(x, k=5), on_epoch=on_epoch)
    with (folder / "log.csv").open(encoding="utf-8", newline="") as file:
        epochs = list(csv.DictReader(file))
    for row in (epochs[0], epochs[-1]):
        print(f"epoch {row['epoch']}: cost {float(row['total']):.3f}, accuracy {row['validation_accuracy']}")
    print(f"tensorboard --logdir {len(list((folder / 'tensorboard').iterdir()))} file of events")

    exported = model.export("onnx", folder / "digits.onnx")
    session = onnxruntime.InferenceSession(exported, providers=["CPUExecutionProvider"])
    logits, probabilities = session.run(None, {"x": x_new})
    classes = session.get_modelmeta().custom_metadata_map["classes"]
    apart = np.abs(probabilities - model.predict_proba(x_new)).max()
    print(f"{exported.name}: {exported.stat().st_size / 1000:.0f} kB, classes {classes}")
    print(f"largest difference to predict_proba on {len(x_new)} new digits: {apart:.0e}")
