"""Ranks that die, hosts that share nothing but a network: torchrun as it is used."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests import part_programs
from tests.benchmark_modules import Forked
from tests.commands import runner
from tests.rank_programs import Faulty, classifier, fit, many_fits
from tests.ranks import SECONDS, in_ranks, program, run_ranks, started, succeed, torchrun


def test_a_run_whose_rank_was_killed_goes_on_to_the_same_result(tmp_path: Path, server: Forked) -> None:
    for attempt, codes in (("0", {-signal.SIGKILL, -signal.SIGTERM}), ("1", {0})):  # restarted, as torchrun does
        ended = run_ranks(server, in_ranks("killed", tmp_path), 2, more={"TORCHELASTIC_RESTART_COUNT": attempt})
        found = set(map(int, ended.err.splitlines()[-1].split()))
        assert found <= codes | {int(attempt == "0")}, ended.err
        assert (-signal.SIGKILL in found) == (attempt == "0")
    alone = many_fits() | {"killed": fit(classifier().set_params(network=Faulty))}
    for rank in range(2):
        found = np.load(tmp_path / f"rank{rank}.npz")
        assert found["epochs"].tolist() == [3, 4, 5]  # 0 to 2 were done before it was killed
        for name, expected in alone.items():
            np.testing.assert_allclose(found[name], expected, atol=1e-5, err_msg=f"{name}, rank {rank}")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the process to kill in /proc")
def test_a_command_whose_rank_was_killed_goes_on_and_is_written_and_printed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    table = tmp_path / "rows.csv"
    rows = [f"{a},{b},{'x' if a + b > 0 else 'y'}" for a, b in rng.normal(size=(60, 2))]
    table.write_text("\n".join(["a,b,kind", *rows]), encoding="utf-8")
    words = [str(table), "--columns", "a,b", "--label", "kind", "--hidden", "3", "--recipe", "paper", "--epochs", "60"]
    words = ["train", *words, "--batch-size", "16", "--no-report", "-o"]
    assert runner(monkeypatch, capsys)(*words, tmp_path / "alone")[0] == 0
    command = torchrun("--max-restarts", "1", "-m", "ngm", *words, str(tmp_path / "run"), "--resume")
    with started(command, output=subprocess.PIPE) as process:
        history = tmp_path / "run" / "history.jsonl"
        while process.poll() is None and not (history.exists() and history.read_text(encoding="utf-8").count("\n") > 2):
            time.sleep(0.005)
        os.kill(_child(process.pid, "RANK=1"), signal.SIGKILL)
        output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, output
    assert output.count("Run folder: ") == 1
    assert "there is no run in" in output
    files = [sorted(path.name for path in (tmp_path / name).iterdir()) for name in ("alone", "run")]
    assert files[0] == files[1]
    assert len(history.read_text(encoding="utf-8").splitlines()) == 60
    alone, found = (load_file(tmp_path / name / "weights.safetensors") for name in ("alone", "run"))
    for name, expected in alone.items():
        torch.testing.assert_close(found[name], expected, rtol=0, atol=1e-5)


def _child(parent: int, variable: str) -> int:
    """The process that a process has started with this variable in its environment."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="utf-8").split()
    (child,) = [c for c in children if variable.encode() in Path(f"/proc/{c}/environ").read_bytes().split(b"\0")]
    return int(child)


@pytest.fixture
def hosts() -> Iterator[list[tuple[str, str, str]]]:
    """Two network namespaces with a cable between them: (namespace, device, address) of each."""
    if os.name != "posix" or shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need Linux, root and iproute2")
    number = os.getpid()
    made = [(f"ngm{number}{end}", f"ngm{number}{end}", f"10.77.0.{i}") for i, end in enumerate("ab", start=1)]
    try:
        for name, _, _ in made:
            if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode:
                pytest.skip("network namespaces cannot be made here; they need CAP_SYS_ADMIN")
        (a, cable_a, _), (b, cable_b, _) = made
        _ip("link", "add", cable_a, "netns", a, "type", "veth", "peer", "name", cable_b, "netns", b)
        for name, cable, address in made:
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", cable)
            _ip("-n", name, "link", "set", cable, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield made
    finally:
        for name, _, _ in made:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)  # takes its end of the cable with it


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def on_host(hosts: list[tuple[str, str, str]], i: int) -> tuple[dict[str, str], list[str]]:
    """(environment, what goes before the command) of rank i on host i."""
    meeting = {"MASTER_ADDR": hosts[0][2], "MASTER_PORT": "29500", "WORLD_SIZE": "2"}  # what torchrun would set
    return {**meeting, "RANK": str(i), "GLOO_SOCKET_IFNAME": hosts[i][1]}, ["ip", "netns", "exec", hosts[i][0]]


def test_two_hosts_train_the_network_that_one_trains(hosts: list[tuple[str, str, str]], tmp_path: Path) -> None:
    fit(classifier(epochs=3), tmp_path / "a" / "resumed")  # a checkpoint on the first host; the second has none
    (tmp_path / "b").mkdir()
    with (
        started(program("fits", tmp_path / "a"), *on_host(hosts, 0), output=subprocess.PIPE) as first,
        started(program("fits", tmp_path / "b"), *on_host(hosts, 1), output=subprocess.PIPE) as second,
    ):
        succeed([first, second])
    alone = many_fits() | {"resumed": fit(classifier())}
    ranks = [path for end in "ab" for path in (tmp_path / end).glob("rank*.npz")]
    assert len(ranks) == 2
    for path in ranks:
        found = np.load(path)
        for name, expected in alone.items():
            np.testing.assert_allclose(found[name], expected, atol=1e-5, err_msg=f"{name}, {path.name}")


def test_two_hosts_with_their_own_parts_alone_learn_what_one_learns_from_the_graph(
    hosts: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    for i, end in enumerate("ab"):
        part_programs.write_parts(tmp_path / end)
        for part in (tmp_path / end).glob("*/part-*"):
            if int(part.name.removeprefix("part-")) % 2 != i:
                shutil.rmtree(part)
    code = [in_ranks("train_and_measure", tmp_path / end, "part_programs") for end in "ab"]
    with (
        started(["-c", code[0]], *on_host(hosts, 0), output=subprocess.PIPE) as first,
        started(["-c", code[1]], *on_host(hosts, 1), output=subprocess.PIPE) as second,
    ):
        succeed([first, second])
    alone = part_programs.learned_alone()
    for i, end in enumerate("ab"):
        found = np.load(tmp_path / end / f"rank{i}.npz")
        for name, expected in alone.items():
            np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-5, err_msg=f"{name}, rank {i}")
    assert (tmp_path / "a" / "run of classes" / "weights.safetensors").exists()
    assert not (tmp_path / "b" / "run of classes").exists()
