"""Training and prediction on a Ray of this machine, with two processors, that is started once and stopped after."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import ngm
from ngm.workflow import TrainOptions, TrainRequest
from tests.conftest import make_problem
from tests.rank_programs import classifier
from tests.texts import TEXTS, Y

if TYPE_CHECKING:
    from ray.train import RunConfig

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: pip install '.[ray]'"),
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\.data\..*"),  # of settings that Ray Data makes itself
]
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.05",  # reports are read this often, so that there is one for every epoch
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "300",  # a busy machine takes ten times as long as an idle one
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
}


def descendants(process: int) -> set[int]:
    """Processes that a process has started, those that they have started, and so on."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # gone in the meantime
            continue
    found, new = set(), {process}
    while new:
        new = {child for child, parent in parents.items() if parent in new}
        found |= new
    return found


def alive(process: int) -> bool:
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def storage() -> Iterator[Path]:
    """Starts Ray, and stops it: no process of it is left. Gives a folder for its records."""
    import ray

    before = descendants(os.getpid())
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory(prefix="ray", dir="/tmp") as folder:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
        ray.init(num_cpus=2, object_store_memory=100 * 2**20, _temp_dir=folder, **quiet)
        try:
            yield Path(folder) / "storage"
        finally:
            started = descendants(os.getpid()) - before
            ray.shutdown()
            until = time.monotonic() + 30
            while any(alive(process) for process in started) and time.monotonic() < until:
                time.sleep(0.05)
    assert started
    assert [process for process in started if alive(process)] == []


def run_config(storage: Path, reports: Path) -> RunConfig:
    """Writes what the workers report into a file, a line for each report."""
    from ray.train import RunConfig, UserCallback

    class Written(UserCallback):
        def after_report(self, run_context: object, metrics: list[dict[str, float]], checkpoint: object) -> None:
            with reports.open("a", encoding="utf-8") as file:
                file.write(json.dumps(metrics) + "\n")

    return RunConfig(storage_path=str(storage), callbacks=[Written()])


def read_reports(file: Path) -> list[list[dict[str, float]]]:
    """What rank 0 and rank 1 have reported, again and again."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_two_workers_fit_as_one_process_does(storage: Path, tmp_path: Path) -> None:
    problem, estimator = make_problem(), classifier()
    x, y, handler, reports = problem.x.numpy(), problem.y.numpy(), signal.getsignal(signal.SIGINT), tmp_path / "reports"
    records = run_config(storage, reports)
    model = ngm.ray.fit(estimator, x, y, problem.graph, folder=tmp_path / "run", workers=2, run_config=records)
    alone = classifier().fit(x, y, graph=problem.graph, folder=tmp_path / "alone")
    np.testing.assert_allclose(model.predict_proba(x), alone.predict_proba(x), atol=1e-5)
    files = sorted(path.name for path in (tmp_path / "run").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "alone").iterdir())  # written once, by rank 0
    assert signal.getsignal(signal.SIGINT) is handler
    assert not hasattr(estimator, "network_")
    found = read_reports(reports)
    assert found[-1] == [model.history_.epochs[-1], {}]  # rank 1 has nothing to say
    assert all(line == [model.history_.epochs[int(line[0]["epoch"])], {}] for line in found)


def test_workers_train_on_a_table_and_predict_a_data_set_as_one_process_does(storage: Path, tmp_path: Path) -> None:
    import ray

    pd.DataFrame({"text": TEXTS, "topic": Y}).to_csv(tmp_path / "texts.csv", index=False)
    options = TrainOptions(str(tmp_path / "texts.csv"), text="text", label="topic", encoder="tfidf", k=3)
    settings = {"hidden": (4,), "epochs": 3, "recipe": "paper"}
    request = TrainRequest(options, settings, tmp_path / "run", report=False)
    model = ngm.ray.train(request, run_config=run_config(storage, tmp_path / "reports"))
    single = ngm.workflow.train(
        options.source, text="text", label="topic", encoder="tfidf", k=3, settings=settings, output=tmp_path / "alone"
    )
    x = single.data.x
    np.testing.assert_allclose(model.predict_proba(x), single.model.predict_proba(x), atol=1e-5)
    assert read_reports(tmp_path / "reports")[-1] == [model.history_.epochs[-1], {}]

    dataset = ray.data.from_pandas(pd.DataFrame({"number": range(24), "text": TEXTS}))
    found = ngm.ray.predict(dataset, tmp_path / "run", batch_size=10, all_classes=True).take_all()
    found.sort(key=lambda row: int(row["number"]))
    assert [row["text"] for row in found] == TEXTS
    assert [row["class"] for row in found] == model.predict(x).tolist()
    shares = [[row[f"p_{name}"] for name in model.classes_] for row in found]
    np.testing.assert_allclose(shares, model.predict_proba(x), atol=1e-6)
