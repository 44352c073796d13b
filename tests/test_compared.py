"""The comparison with other libraries: its files, its counting, and the table in the docs."""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import re
import shlex
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from ngm import Graph
from ngm.cli.terminal import app
from ngm.datasets import Dataset
from ngm.recipes.strong_teachers import TeacherConfig

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "benchmarks" / "compared"


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmarks_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


compared, export = module(ROOT / "benchmarks" / "compared.py"), module(SCRIPTS / "export.py")
KEPT = json.loads((ROOT / "benchmarks" / "results" / "compared.json").read_text(encoding="utf-8"))
WRITTEN = """\"\"\"A docstring

of three lines.\"\"\"

# a comment
import json  # measuring
import sys

text = \"\"\"one

three\"\"\"
made = dict(
    a=1,  # said here

    b=2,
)


def double(n: int) -> int:
    \"\"\"Twice.\"\"\"
    return 2 * n


print(double(made["a"]), text)  # measuring
"""


def test_lines_of_code_are_counted_as_by_hand() -> None:
    # import sys; text, three lines of one string; made = dict(, a, b, ); def, return
    assert compared.count_lines(WRITTEN) == 1 + 3 + 4 + 2


def test_lines_of_a_shell_script_are_its_commands() -> None:
    script = "#!/bin/sh\n# a comment\n\nngm train graph/ -o run/\nngm predict run/ new.csv\necho done  # measuring\n"
    assert compared.count_lines(script, shell=True) == 2


def test_a_setting_is_replaced_in_its_place_and_nowhere_else() -> None:
    source = 'C = 3\nmodel = fit(x, C=10.0, name="C=10.0", rows=(1, 2))\n'
    assert compared.settings_of(source, ["C", "rows"]) == {"C": 10.0, "rows": (1, 2)}
    changed = compared.with_settings(source, {"C": 0.5, "name": "other"})
    assert changed == "C = 3\nmodel = fit(x, C=0.5, name='other', rows=(1, 2))\n"


def test_a_setting_must_be_given_once() -> None:
    with pytest.raises(ValueError, match="alpha is set 2 times in the script; it must be set once"):
        compared.settings_of("f(alpha=1)\ng(alpha=2)\n", ["alpha"])
    with pytest.raises(ValueError, match="alpha is set 0 times in the script; it must be set once"):
        compared.settings_of("f(beta=1)\n", ["alpha"])


N = 120


def small() -> Dataset:
    """Two classes of 60 papers with words of their own, in two rings; 30 labels, 20 papers to choose on, 23 to test."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    x = np.zeros((N, 40), dtype=np.float32)
    for i in range(N):
        x[i, rng.choice(20, size=8, replace=False) + 20 * y[i]] = 1
    return Dataset(
        name="small",
        x=sp.csr_matrix(x),
        y=y,
        graph=Graph.from_edges(np.stack([np.arange(N), (np.arange(N) + 2) % N], axis=1), num_nodes=N),
        train=np.arange(30),
        validation=np.arange(30, 50),
        test=np.arange(51, N, 3),
        classes=("even", "odd"),
    )


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared")
    export.write_all(folder, small())
    return folder


def test_new_papers_and_their_edges_are_absent_from_what_is_trained_on(files: Path) -> None:
    data = small()
    left = np.setdiff1d(np.arange(N), data.test)
    known, new = rows_of(files / "test" / "known.csv"), rows_of(files / "test" / "new.csv")
    assert [row["label"] for row in known] == [str(data.y[n]) if n < 30 else "" for n in left]
    assert [row["label"] for row in new] == [str(label) for label in data.y[data.test]]
    assert [row["id"] for row in known + new] == [str(i) for i in range(N)]
    place = {int(node): i for i, node in enumerate([*left, *data.test])}
    edges = {frozenset((place[n], place[(n + 2) % N])) for n in range(N)}
    read = {
        name: {frozenset(map(int, row.values())) for row in rows_of(files / "test" / name)}
        for name in ("edges.csv", "all_edges.csv")
    }
    assert read["all_edges.csv"] == edges
    assert read["edges.csv"] == {edge for edge in edges if max(edge) < len(known)}
    alone = files / "alone"
    assert (alone / "all_edges.csv").read_bytes() == (alone / "edges.csv").read_bytes()
    assert (alone / "edges.csv").read_bytes() == (files / "test" / "edges.csv").read_bytes()


def test_test_papers_are_in_none_of_the_files_that_settings_are_chosen_by(files: Path) -> None:
    data, folder = small(), files / "choice"
    left = np.setdiff1d(np.arange(N), [*data.test, *data.validation])
    words = [row["words"].split() for name in ("known.csv", "new.csv") for row in rows_of(folder / name)]
    expected = data.rows[np.concatenate([left, data.validation])]
    assert (sp.load_npz(folder / "x.npz") != expected).nnz == 0
    assert words == [[f"w{column}" for column in sorted(row.indices)] for row in expected]
    numbers = [int(end) for row in rows_of(folder / "all_edges.csv") for end in row.values()]
    assert max(numbers) < len(left) + len(data.validation)


def test_a_data_set_without_a_graph_is_refused(tmp_path: Path) -> None:
    data = small()
    bare = Dataset("bare", data.x, data.y, None, data.train, data.validation, data.test, data.classes)
    with pytest.raises(ValueError, match="data set 'bare' has no graph; give one that has"):
        export.write_all(tmp_path, bare)


IN_PROCESS = sorted(p.stem for p in SCRIPTS.glob("*_*.py") if not p.stem.startswith("nsl"))
QUICK = "epochs=60"  # of 500 and 100


@pytest.fixture
def quick_teachers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One teacher of a kind, 30 steps each."""
    config = partial(TeacherConfig, walkers=1, embedders=1, steps=30, embedder_steps=30)
    monkeypatch.setattr("ngm.recipes.strong_teachers.TeacherConfig", config)


@pytest.mark.usefixtures("quick_teachers")
@pytest.mark.parametrize("name", IN_PROCESS)
def test_the_script_tells_apart_what_is_easy(
    name: str, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas", reason="the scripts read CSV by pandas")
    if name.startswith("pyg"):
        pytest.importorskip("torch_geometric", reason="rows of PyTorch Geometric need torch_geometric")
    source = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    if name.startswith("ours"):
        assert source.count("seed=seed") == 1
        source = source.replace("seed=seed", f"seed=seed, {QUICK}")
    monkeypatch.setattr(sys, "argv", [name, str(files / "test"), "0"])
    exec(compile(source, name, "exec"), {"__name__": "__main__"})
    said = json.loads(capsys.readouterr().out)
    assert set(said) == {"accuracy", "training_seconds"}
    assert said["accuracy"] == 1.0  # the classes share no word


@pytest.mark.usefixtures("quick_teachers")
def test_the_commands_tell_apart_what_is_easy(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = (SCRIPTS / "ours_commands.sh").read_text(encoding="utf-8")
    commands = [line for line in script.splitlines() if line.startswith("ngm ")]
    assert len(commands) == compared.count_lines(script, shell=True) == 3
    assert commands[1].count("--validation 0") == 1
    monkeypatch.chdir(tmp_path)
    for line in commands:
        line = (
            line.replace("$1", str(files / "test"))
            .replace("$2", "0")
            .replace("--validation 0", "--validation 0 --epochs 20")
        )
        words = shlex.split(line.partition(">")[0])
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["accuracy"] == 1.0


def test_what_commands_left_behind_is_read_as_by_hand(tmp_path: Path) -> None:
    (tmp_path / "before.txt").write_text("0m0.010s 0m0.002s\n0m1.500s 0m0.250s\n", encoding="utf-8")
    (tmp_path / "after.txt").write_text("0m0.020s 0m0.002s\n1m2.000s 0m1.250s\n", encoding="utf-8")
    (tmp_path / "told.json").write_text('{"accuracy": 0.75, "seconds": 3}', encoding="utf-8")
    assert compared.told(tmp_path) == {"accuracy": 0.75, "training_seconds": 62 + 1.25 - 1.75}


def options(folder: Path, *, fresh: bool = False) -> argparse.Namespace:
    return argparse.Namespace(work=folder, nsl_python=None, threads="1", fresh=fresh)


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "all_edges.csv").touch()
    (tmp_path / "test").mkdir()
    count = tmp_path / "count"
    source = f"print('x', file=open({str(count)!r}, 'a'))\nprint('{{\"accuracy\": 0.5, \"training_seconds\": 1}}')\n"
    peer = compared.PEERS["ours_strong"]
    first = compared.Runner(options(tmp_path)).run(peer, source, "test", 0)
    again = compared.Runner(options(tmp_path)).run(peer, "# only a comment\n" + source, "test", 0)
    assert first == again
    assert (first.accuracy, first.training_seconds) == (0.5, 1)
    assert first.seconds > 0
    assert count.read_text(encoding="utf-8") == "x\n"
    compared.Runner(options(tmp_path)).run(peer, source, "test", 1)
    compared.Runner(options(tmp_path, fresh=True)).run(peer, source, "test", 0)
    assert count.read_text(encoding="utf-8") == "x\nx\nx\n"


def test_a_script_that_fails_is_named_with_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "all_edges.csv").touch()
    runner = compared.Runner(options(tmp_path))
    with pytest.raises(RuntimeError, match=r"ours_strong\.py failed: ValueError: no such luck"):
        runner.run(compared.PEERS["ours_strong"], "raise ValueError('no such luck')", "test", 0)


def test_the_table_of_the_page_is_that_of_the_results() -> None:
    page = (ROOT / "docs" / "compared.md").read_text(encoding="utf-8")
    assert compared.table(KEPT["rows"]) in page


def test_another_table_takes_the_place_of_the_old_one_and_of_nothing_else() -> None:
    page = "# Title\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nAfter.\n\n| c |\n"
    assert compared.with_table(page, "| a | b |\n| 3 | 4 |") == "# Title\n\n| a | b |\n| 3 | 4 |\n\nAfter.\n\n| c |\n"
    with pytest.raises(ValueError, match=r"the page has no table that begins with '\| d \|'; put one in"):
        compared.with_table(page, "| d |")


def test_the_code_on_the_page_is_that_of_the_scripts() -> None:
    page = (ROOT / "docs" / "compared.md").read_text(encoding="utf-8")
    scripts = "\n".join(file.read_text(encoding="utf-8") for file in sorted(SCRIPTS.glob("*_*.py")))
    known = {line.strip() for line in scripts.splitlines()}
    shown = [
        line.strip() for block in re.findall(r"^```text\n(.*?)^```", page, re.M | re.S) for line in block.splitlines()
    ]
    assert len(shown) > 30
    assert [line for line in shown if line not in known] == []


def test_the_table_shows_a_row_as_by_hand() -> None:
    row = {"key": "pyg_mlp", "lines": 28, "commands": 1, "seconds": 4.06, "training_seconds": 0.3}
    shown = compared.table([row | {"mean": 0.5832, "std": 0.0104}]).splitlines()[2]
    assert shown == "| PyG | MLP | its words | 28 | 1 | 4.1 | 0.3 | .583 ± .010 |"
    shell = {"key": "ours_commands", "lines": 0, "commands": 3, "seconds": 20, "training_seconds": 18}
    shown = compared.table([shell | {"mean": 0.75, "std": 0.0}]).splitlines()[2]
    assert shown.endswith("| its words | none | 3 | 20.0 | 18.0 | .750 ± .000 |")


@pytest.mark.parametrize("row", KEPT["rows"], ids=lambda row: row["key"])
def test_what_is_kept_of_a_row_follows_from_its_script_and_its_seeds(row: dict[str, object]) -> None:
    peer = compared.PEERS[row["key"]]
    shell = peer.file.suffix == ".sh"
    lines = compared.count_lines(peer.file.read_text(encoding="utf-8"), shell=shell)
    assert (row["lines"], row["commands"]) == ((0, lines) if shell else (lines, 1))
    accuracies = np.array(row["accuracies"])
    assert len(accuracies) == 5
    assert row["mean"] == pytest.approx(accuracies.mean())
    assert row["std"] == pytest.approx(accuracies.std(ddof=1))


@pytest.mark.parametrize("key", [key for key, peer in compared.PEERS.items() if peer.grid])
def test_each_search_tried_eight_settings_and_the_script_has_the_best(key: str) -> None:
    peer, choice = compared.PEERS[key], KEPT["choice"][key]
    assert len(choice["tried"]) == 8
    best = max(choice["tried"], key=lambda tried: tried["accuracy"])
    assert choice["best"] == best["settings"]
    assert compared.settings_of(peer.file.read_text(encoding="utf-8"), list(peer.grid)) == best["settings"]
