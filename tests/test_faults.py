"""Full disks, read-only folders, closed pipes, odd locales, masks and names: one clear line, nothing half-written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import ngm
from ngm.io.files import is_temporary
from ngm.io.tables import read_table
from tests.benchmark_modules import ROOT, Forked, Job, forked, kills

TRAIN = ("train", "rows.csv", "--columns", "a,b,c", "--label", "kind", "--hidden", "8", "--epochs", "2")
CLOSED = forked.CLOSED


@pytest.fixture(scope="module")
def data(server: Forked, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows.csv, edges.csv, graph/ and run/."""
    folder = tmp_path_factory.mktemp("data")
    kills.write_tables(folder)
    for words in (
        ("ingest", "--edges", "edges.csv", "--nodes", "rows.csv", "--label", "kind", "-o", "graph"),
        (*TRAIN, "--no-report", "-o", "run"),
    ):
        ended = server.run(Job(words, str(folder)))
        assert ended.code == 0, ended.err
    return folder


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def leftovers(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if is_temporary(path)]


# What is written by each command into the folder it runs in; DATA is the folder of inputs
WRITERS = {
    "ingest": ("ingest", "--edges", "DATA/edges.csv", "--nodes", "DATA/rows.csv", "-o", "graph"),
    "build": ("build", "DATA/rows.csv", "--columns", "a,b,c", "--id", "id", "-o", "graph"),
    "train": ("train", "DATA/rows.csv", *TRAIN[2:], "--log", "csv", "-o", "run"),
    "predict csv": ("predict", "DATA/run", "DATA/rows.csv", "-o", "out.csv"),
    "predict parquet": ("predict", "DATA/run", "DATA/rows.csv", "-o", "out.parquet"),
    "report": ("report", "DATA/run", "-o", "page.html"),
    "export": ("export", "DATA/run", "-o", "model.pt2"),
}


def words_of(name: str, data: Path) -> list[str]:
    return [word.replace("DATA", str(data)) for word in WRITERS[name]]


# Closed pipes and full output

PRINTERS = [
    ("--help",),
    ("train", "--help"),
    ("--version",),
    ("datasets",),
    ("check", "DATA/graph"),
    *[words for name, words in WRITERS.items() if name not in ("export", "predict parquet")],
]


@pytest.mark.parametrize("as_json", [False, True], ids=["words", "json"])
@pytest.mark.parametrize("words", PRINTERS, ids=" ".join)
def test_a_command_whose_output_nobody_reads_ends_quietly(
    words: tuple[str, ...], as_json: bool, data: Path, tmp_path: Path, server: Forked
) -> None:
    if as_json and words[-1] in ("--help", "--version"):
        pytest.skip("help and version are no JSON")
    given = [word.replace("DATA", str(data)) for word in words] + ["--json"] * as_json
    ended = server.run(Job(given, str(tmp_path), output=CLOSED))
    said = [line for line in ended.err.splitlines() if not line.startswith(("epoch ", "note: "))]
    assert (ended.code, said) == (1, [])
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("as_json", [False, True], ids=["words", "json"])
def test_an_output_that_is_full_is_told_in_one_line(as_json: bool, data: Path, tmp_path: Path, server: Forked) -> None:
    words = words_of("predict csv", data) + ["--json"] * as_json
    ended = server.run(Job(words, str(tmp_path), output="/dev/full"))
    said = "error: the disk is full: standard output cannot be written; free some space, or send it elsewhere\n"
    assert (ended.code, ended.err) == (2, said)
    assert len(read_table(tmp_path / "out.csv")) == kills.ROWS


# Locales, masks, names


TWICE = """
import sys
from ngm.cli import main
words = sys.argv[1:]
cut = words.index("then")
for command in (words[:cut], words[cut + 1 :]):
    sys.argv = ["ngm", *command]
    try:
        main()
    except SystemExit as ended:
        print(ended.code or 0, file=sys.stderr)
"""


def test_umlauts_in_the_c_locale_break_nothing(data: Path, tmp_path: Path) -> None:
    text = (data / "rows.csv").read_text(encoding="utf-8").replace("k1", "Bäume").replace("n3,", "Hügel,")
    (tmp_path / "Zeilen für später.csv").write_text(text, encoding="utf-8")
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONIOENCODING", None)
    graph = "Gräben"
    build = ("build", "Zeilen für später.csv", "--columns", "a,b,c", "--id", "id", "--label", "kind", "-o", graph)
    done = subprocess.run(  # one process for both commands
        [sys.executable, "-c", TWICE, *build, "then", "check", "nämlich"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
    )
    assert done.stderr.decode() == "0\nerror: nämlich is not a graph folder: it has no graph.json\n2\n"
    assert f"Graph folder: {graph}" in done.stdout.decode()
    assert "Hügel" in ngm.open_graph(tmp_path / graph).ids.tolist()


@pytest.mark.parametrize(("name", "umask"), [*((name, 0o022) for name in WRITERS), ("train", 0o077), ("build", 0o077)])
def test_files_have_the_permissions_of_the_mask(
    name: str, umask: int, data: Path, tmp_path: Path, server: Forked
) -> None:
    ended = server.run(Job(words_of(name, data), str(tmp_path), umask=umask))
    assert ended.code == 0, ended.err
    written = list(tmp_path.rglob("*"))
    assert written
    for path in written:
        assert path.stat().st_mode & 0o777 == (0o777 if path.is_dir() else 0o666) & ~umask, path


NAMES = ['it\'s a "näme" [1]*?', "[bold]new\nline{x}%d$HOME;"]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_names_are_taken_as_they_are(name: str, data: Path, tmp_path: Path, server: Forked) -> None:
    place = tmp_path / name
    place.mkdir()
    for file in ("rows.csv", "edges.csv"):
        shutil.copy(data / file, place / f"{name} {file}")
    rows, edges, graph, run = (f"{name}/{name} {what}" for what in ("rows.csv", "edges.csv", "graph", "run"))
    for words in (
        ("ingest", "--edges", edges, "--nodes", rows, "--label", "kind", "-o", graph),
        ("build", rows, "--columns", "a,b,c", "--id", "id", "-o", f"{graph} 2"),
        ("train", rows, *TRAIN[2:], "--graph", graph, "--id", "id", "-o", run),
        ("predict", run, rows, "-o", f"{run} out.csv"),
        ("predict", run, rows, "-o", f"{run} out.parquet"),
        ("report", run, "-o", f"{run}.html"),
        ("check", graph),
    ):
        ended = server.run(Job(words, str(tmp_path)))
        assert (ended.code, "Traceback" in ended.err) == (0, False), ended.err
    assert len(ngm.open_graph(tmp_path / graph).ids) == kills.ROWS
    assert [len(read_table(tmp_path / f"{run} out{end}")) for end in (".csv", ".parquet")] == [kills.ROWS] * 2
    ngm.load(tmp_path / run)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    made = ("rows.csv", "edges.csv", "graph", "graph 2", "run", "run out.csv", "run out.parquet", "run.html")
    assert sorted(path.name for path in place.iterdir()) == sorted(f"{name} {what}" for what in made)


# Disks


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of its own, of one page; `resize` makes it larger."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk: run as root")
    (place / "ballast").write_bytes(bytes(4096))
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def remount(disk: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(disk)], check=True)


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_told_in_one_line_that_names_the_file(name: str, data: Path, disk: Path, server: Forked) -> None:
    pages, failed, code = 1, 0, 2
    while code:
        ended = server.run(Job(words_of(name, data), str(disk)))
        code = ended.code
        if code:
            said = [line for line in ended.err.splitlines() if not line.startswith(("epoch ", "note: "))]
            assert code == 2, ended.err
            assert len(said) == 1, ended.err
            assert said[0].startswith("error: the disk is full: writing "), said
            failed += 1
        assert leftovers(disk) == []
        for path in set(disk.iterdir()) - {disk / "ballast"}:
            if path.name == "run":
                shutil.rmtree(path)
            else:
                assert not code, f"{path.name} is there, and the disk was full"
        pages *= 4
        remount(disk, f"size={4 * pages}k")
    assert failed


@pytest.mark.parametrize("name", WRITERS)
def test_a_read_only_folder_is_told_in_one_line_before_anything_is_read(
    name: str, data: Path, disk: Path, server: Forked
) -> None:
    remount(disk, "ro")
    ended = server.run(Job(words_of(name, data), str(disk)))
    product = WRITERS[name][-1]
    said = f"error: {product} cannot be written ({disk} is read-only); name a writable place\n"
    assert (ended.code, ended.out, ended.err) == (2, "", said)


# Signals, and two at once


@pytest.mark.parametrize("name", ["ingest", "build", "predict csv", "predict parquet", "report", "export"])
def test_a_command_that_is_told_to_stop_leaves_nothing_half_written(
    name: str, data: Path, tmp_path: Path, server: Forked
) -> None:
    product = WRITERS[name][-1]
    stop = forked.Signal(signal.SIGTERM, file=f".{product}.*")  # while it writes
    ended = server.run(Job(words_of(name, data), str(tmp_path), signals=[stop]))
    assert "Traceback" not in ended.err
    assert leftovers(tmp_path) == []
    if ended.code:  # else it was done before the signal came
        assert (ended.code, ended.err, files(tmp_path)) == (143, "stopped\n", [])


REFUSED = "error: run is being written by another training; wait until that ends, or name another folder\n"


def test_a_second_training_into_a_folder_is_refused_while_the_first_one_runs(
    data: Path, tmp_path: Path, server: Forked
) -> None:
    words = ["train", f"{data}/rows.csv", *TRAIN[2:-2], "--no-report", "-o", "run"]
    first = [sys.executable, "-m", "ngm", *words, "--epochs", "1000000"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(first, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as other:
        for _ in range(2400):
            if (tmp_path / "run" / "checkpoint" / "state.safetensors").exists():
                break
            time.sleep(0.05)
        for more in ([], ["--overwrite"], ["--resume"]):
            ended = server.run(Job([*words, *more, "--epochs", "1"], str(tmp_path)))
            assert (ended.code, ended.err) == (2, REFUSED)
        assert other.poll() is None
        other.kill()
    ended = server.run(Job([*words, "--epochs", "1", "--overwrite"], str(tmp_path)))
    assert ended.code == 0, ended.err
