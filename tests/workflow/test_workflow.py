"""`ngm.workflow` does in Python what the commands do, and prints nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import ngm
from ngm.workflow import Monitor, TrainOptions, TrainRequest, dry_run, predict, train
from tests.commands import Run, runner

SETTINGS = {"hidden": (3,), "epochs": 2, "recipe": "paper"}
WORDS = ("--columns", "a", "--label", "kind", "--hidden", "3", "--epochs", "2", "--recipe", "paper", "--no-report")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in a folder of its own with a small table, and gives (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)
    kinds = ["x", "y"] * 10
    pd.DataFrame({"id": range(20), "a": [i / 4 for i in range(20)], "kind": kinds}).to_csv("rows.csv", index=False)
    return runner(monkeypatch, capsys)


def without_times(content: object) -> object:
    if isinstance(content, dict):
        return {k: without_times(v) for k, v in content.items() if k not in ("seconds", "run", "folder", "predictions")}
    return content


def contents(folder: str) -> dict[str, object]:
    """Every file that is the same whenever it is written, and the JSON of others."""
    files = [path for path in sorted(Path(folder).rglob("*")) if path.is_file() and path.name != "state.safetensors"]
    return {
        str(path.relative_to(folder)): without_times(json.loads(path.read_text(encoding="utf-8")))
        if path.suffix == ".json"
        else path.read_bytes()
        for path in files
        if path.name != "history.jsonl"
    }


def test_train_and_predict_give_what_the_commands_give(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run("train", "rows.csv", *WORDS, "--control", "--json", "-o", "command")
    assert code == 0
    result = train(
        "rows.csv", columns="a", label="kind", control=True, output="python", settings=SETTINGS, report=False
    )
    assert without_times(dict(result.summary)) == without_times(json.loads(out))
    assert contents("python") == contents("command")
    assert len(result.runs.without_graph) == 1
    code, out, _ = run("predict", "command", "rows.csv", "--label", "kind", "--json", "-o", "command.csv")
    assert code == 0
    found = predict("python", "rows.csv", "python.csv", label="kind")
    assert without_times(dict(found.summary)) == without_times(json.loads(out))
    assert Path("python.csv").read_bytes() == Path("command.csv").read_bytes()
    assert (found.count, found.num_labeled, found.score) == (20, 20, json.loads(out)["accuracy"])
    capsys.readouterr()
    assert ngm.load("python").predict([[0.0]]) in ("x", "y")


def test_a_dry_run_plans_and_writes_nothing(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    request = TrainRequest(TrainOptions("rows.csv", columns="a", label="kind"), SETTINGS)
    result = dry_run(request)
    assert (result.plan.epochs, result.summary["runs"], Path("run").exists()) == (2, 1, False)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"folder": "run"}, r"^settings has 'folder', which is an argument of its own here; give output= instead$"),
        ({"epoch": 3}, r"^settings has 'epoch' \(did you mean 'epochs'\?\); choose from hidden, "),
    ],
)
def test_settings_that_are_none_are_refused(settings: dict[str, object], message: str, run: Run) -> None:
    with pytest.raises(ValueError, match=message):
        train("rows.csv", columns="a", label="kind", settings=settings)


class Failing(Monitor):
    """Fails in the control, which is fitted second."""

    fits = 0

    def fitting(self, model: ngm.NGMClassifier, description: str):  # type: ignore[no-untyped-def, override]
        self.fits += 1
        if self.fits == 2:
            raise RuntimeError("no memory")
        return super().fitting(model, description)


def test_a_run_is_whole_where_its_control_fails(run: Run) -> None:
    with pytest.raises(RuntimeError, match="no memory"):
        train("rows.csv", columns="a", label="kind", control=True, settings=SETTINGS, monitor=Failing())
    assert predict("run", "rows.csv").count == 20
    assert "control" not in json.loads(Path("run/metrics.json").read_text(encoding="utf-8"))
