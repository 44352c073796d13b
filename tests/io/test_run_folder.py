"""Run folders: what is in them, that files are whole, and what is said of folders that are not right."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
import torch

from ngm.io.files import temporary_path
from ngm.io.run_folder import Run, load_tensors, save_tensors
from tests.repositories import git, project


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made = Run.create(tmp_path / "run")
    made.write_config("NGMClassifier", {"epochs": 3})
    return made


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with its bytes."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def message(call: Callable[[], object], kind: type[Exception] = ValueError) -> str:
    """The text of the error that the call raises, which must be one line."""
    with pytest.raises(kind) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_config_holds_estimator_settings_and_versions(run: Run) -> None:
    config = json.loads((run.folder / "config.json").read_text(encoding="utf-8"))
    assert list(config) == ["format", "version", "estimator", "settings", "versions", "commit"]
    assert (config["format"], config["version"]) == ("ngm-run", 1)
    assert (config["estimator"], config["settings"]) == ("NGMClassifier", {"epochs": 3})
    packages = ("neural-graph-machines", "torch", "numpy", "scipy", "scikit-learn")
    installed = {name: metadata.version(name) for name in packages}
    assert config["versions"] == {"python": platform.python_version(), **installed}


def test_a_package_that_is_not_installed_has_version_null(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def lookup(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", lookup)
    run.write_config("NGMClassifier", {})
    assert run.read("config.json")["versions"]["torch"] is None


def test_commit_is_that_of_the_folder_the_program_runs_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project(tmp_path / "project"))
    run = Run.create(tmp_path / "run")
    run.write_config("NGMClassifier", {})
    assert run.read("config.json")["commit"] == git(Path.cwd(), "rev-parse", "--short=12", "HEAD")


def test_commit_is_null_outside_git(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run.write_config("NGMClassifier", {})
    assert run.read("config.json")["commit"] is None


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.write("metrics.json", {"epochs": 1})
    before = files(run.folder)

    def full(self: Path, text: str, encoding: str) -> int:
        with self.open("w", encoding=encoding) as file:
            file.write(text[: len(text) // 2])
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert message(lambda: run.write("metrics.json", {"epochs": 2}), OSError) == "No space left on device"
    assert files(run.folder) == before


def test_weights_that_fail_to_be_written_leave_the_old_ones(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.save_weights({"w": torch.ones(3)})
    before = files(run.folder)

    def full(file: Path, content: bytes) -> None:
        file.write_text("half", encoding="utf-8")
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    message(lambda: run.save_weights({"w": torch.zeros(3)}), OSError)
    assert files(run.folder) == before


def test_numbers_that_json_has_not_are_refused_and_leave_the_old_file(run: Run) -> None:
    run.write("metrics.json", {"cost": 1.5})
    with pytest.raises(ValueError, match="Out of range float values are not JSON compliant"):
        run.write("metrics.json", {"cost": float("nan")})
    assert run.read("metrics.json") == {"cost": 1.5}


def test_create_removes_what_an_older_run_left(run: Run) -> None:
    for name in ("metrics.json", "model.json"):
        run.write(name, {"old": True})
    run.save_weights({"w": torch.ones(1)})
    run.append_history({"epoch": 0})
    save_tensors(run.checkpoint, {"w": torch.ones(1)}, {})
    for name in ("notes.txt", "tensorboard/events.out.tfevents.1.here.2.0", "tensorboard/mine.txt"):
        (run.folder / name).parent.mkdir(exist_ok=True)
        (run.folder / name).write_text("mine", encoding="utf-8")
    config = files(run.folder)["config.json"]
    Run.create(run.folder, overwrite=True)
    mine = {"notes.txt": b"mine", "tensorboard/mine.txt": b"mine"}
    assert files(run.folder) == mine | {"config.json": config}  # still says that it is a run's
    assert not (run.folder / "checkpoint").exists()


REPLACE = "set overwrite=True (--overwrite) to replace it"


@pytest.mark.parametrize("name", ["weights.safetensors", "checkpoint/state.safetensors"])
def test_a_run_with_work_in_it_is_replaced_only_on_request(run: Run, name: str) -> None:
    save_tensors(run.folder / name, {"w": torch.ones(1)}, {})
    before = files(run.folder)
    state = "a trained run" if name.startswith("weights") else "a run that has begun"
    text = message(lambda: Run.create(run.folder), FileExistsError)
    assert text == f"{run.folder} holds {state}; {REPLACE}, or name another folder"
    text = message(lambda: Run.check(run.folder, resumable=True), FileExistsError)
    assert (
        text
        == f"{run.folder} holds {state}; {REPLACE}, resume=True (--resume) to go on with it, or name another folder"
    )
    assert files(run.folder) == before
    assert list(files(Run.create(run.folder, overwrite=True).folder)) == ["config.json"]


def test_a_run_that_has_not_finished_an_epoch_is_replaced(run: Run) -> None:
    run.append_history({"epoch": 0})
    assert list(files(Run.create(run.folder).folder)) == ["config.json"]


def test_a_folder_that_was_being_removed_is_still_known_as_that_of_a_run(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.save_weights({"w": torch.ones(1)})
    save_tensors(run.checkpoint, {"w": torch.ones(1)}, {})
    unlink, left = Path.unlink, 0

    def killed(self: Path, missing_ok: bool = False) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", killed)
    for count in range(10):  # every file of a run
        left = count
        with pytest.raises(KeyboardInterrupt):
            Run.create(run.folder, overwrite=True)
        Run.check(run.folder, overwrite=True)


def test_a_folder_in_which_a_killed_process_left_a_temporary_file_alone_is_as_good_as_empty(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    left = temporary_path(tmp_path / "config.json", "part")
    left.with_name(left.name.replace(str(os.getpid()), str(dead.pid))).touch()
    Run.create(tmp_path)
    assert files(tmp_path) == {}


@pytest.mark.parametrize("config", [None, "{}", '{"format": "something else", "version": 1}', "not json", "[1]"])
def test_a_folder_of_other_files_is_refused_and_not_touched(tmp_path: Path, config: str | None) -> None:
    (tmp_path / "model.json").write_text("mine", encoding="utf-8")
    if config is not None:
        (tmp_path / "config.json").write_text(config, encoding="utf-8")
    before = files(tmp_path)
    text = message(lambda: Run.create(tmp_path), FileExistsError)
    assert text == f"{tmp_path} holds other files and no run; name a new or empty folder"
    assert files(tmp_path) == before


def test_a_file_in_place_of_the_folder_is_refused_and_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "run"
    file.write_text("mine", encoding="utf-8")
    assert message(lambda: Run.create(file), FileExistsError) == f"{file} is a file; name a new or empty folder"
    assert file.read_text(encoding="utf-8") == "mine"


def test_create_makes_folders_above_and_takes_an_empty_one(tmp_path: Path) -> None:
    assert Run.create(tmp_path / "a" / "b").folder.is_dir()
    (tmp_path / "empty").mkdir()
    assert Run.create(str(tmp_path / "empty")).folder == tmp_path / "empty"


def test_open_refuses_a_folder_that_is_no_run(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        text = message(lambda folder=folder: Run.open(folder), FileNotFoundError)
        assert text == f"{folder} is not a run folder: it has no config.json"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"format": "ngm-run", "version": 2}', "format 'ngm-run' version 2"),
        ('{"format": "other", "version": 1}', "format 'other' version 1"),
        ("{}", "format None version None"),
    ],
)
def test_open_refuses_other_formats_and_newer_versions(run: Run, content: str, says: str) -> None:
    file = run.folder / "config.json"
    file.write_text(content, encoding="utf-8")
    assert message(lambda: Run.open(run.folder)) == f"{file} says {says}; this release reads 'ngm-run' version 1"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "Expecting value: line 1 column 1 (char 0)"),
        (b'{"a": ', "Expecting value: line 1 column 7 (char 6)"),
        (b"[1]", "not an object"),
        (b"{}", "it lacks 'a'"),
    ],
)
def test_a_damaged_json_file_is_named_with_the_reason(run: Run, content: bytes, why: str) -> None:
    file = run.folder / "model.json"
    file.write_bytes(content)
    assert message(lambda: run.read("model.json", ("a",))) == f"{file} is damaged ({why}); train again"


def test_bytes_that_are_no_text_count_as_damage(run: Run) -> None:
    (run.folder / "model.json").write_bytes(b"\xff\xfe{")
    assert message(lambda: run.read("model.json")).startswith(f"{run.folder / 'model.json'} is damaged (")


def test_a_missing_json_file_means_that_training_did_not_get_that_far(run: Run) -> None:
    text = message(lambda: run.read("model.json"), FileNotFoundError)
    assert text == f"{run.folder} has no model.json: training did not get that far; resume it or train again"


def test_history_has_a_line_per_epoch(run: Run) -> None:
    run.append_history({"epoch": 0, "total": 2.5})
    run.append_history({"epoch": 1, "total": 0.1})
    text = (run.folder / "history.jsonl").read_text(encoding="utf-8")
    assert text == '{"epoch": 0, "total": 2.5}\n{"epoch": 1, "total": 0.1}\n'
    assert run.read_history() == [{"epoch": 0, "total": 2.5}, {"epoch": 1, "total": 0.1}]
    run.write_history([{"epoch": 0}])
    assert run.read_history() == [{"epoch": 0}]


def test_a_damaged_or_missing_history_is_named(run: Run) -> None:
    text = message(run.read_history, FileNotFoundError)
    assert text == f"{run.folder} has no history.jsonl; train again"
    run.append_history({"epoch": 0})
    with (run.folder / "history.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"epoch"')
    damaged = (
        f"{run.folder / 'history.jsonl'} is damaged (Expecting ':' delimiter: line 1 column 9 (char 8)); train again"
    )
    assert message(run.read_history) == damaged


def test_tensors_and_state_come_back_bit_for_bit(tmp_path: Path) -> None:
    tensors = {
        "double": torch.rand(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)),
        "turned": torch.arange(6.0).reshape(2, 3).t(),
        "count": torch.tensor(7),
        "mask": torch.tensor([True, False]),
    }
    save_tensors(tmp_path / "deep" / "t.safetensors", tensors, {"epochs": [{"total": 0.1}], "best": None})
    loaded, state = load_tensors(tmp_path / "deep" / "t.safetensors")
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert loaded[name].dtype == tensor.dtype
        assert torch.equal(loaded[name], tensor)
    assert state == {"epochs": [{"total": 0.1}], "best": None}


def test_weights_that_share_memory_are_written_under_both_names(run: Run) -> None:
    tied = torch.arange(4.0)
    run.save_weights({"encoder": tied, "decoder": tied.view(2, 2)})
    loaded = run.load_weights()
    assert loaded["encoder"].tolist() == [0, 1, 2, 3]
    assert loaded["decoder"].tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize("damage", [b"", b"garbage", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      "[:12]])
def test_damaged_weights_are_named(run: Run, damage: bytes) -> None:
    file = run.folder / "weights.safetensors"
    file.write_bytes(damage)
    text = message(run.load_weights)
    assert text.startswith(f"{file} is damaged (")
    assert text.endswith("); train again")


def test_cut_off_weights_are_named(run: Run) -> None:
    run.save_weights({"w": torch.ones(100)})
    file = run.folder / "weights.safetensors"
    os.truncate(file, file.stat().st_size - 1)
    assert message(run.load_weights).startswith(f"{file} is damaged (")


def test_missing_weights_mean_that_training_did_not_get_that_far(run: Run) -> None:
    text = message(run.load_weights, FileNotFoundError)
    assert text == f"{run.folder} has no weights.safetensors: training did not get that far; train again"
