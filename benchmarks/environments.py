"""Environments of their own for libraries to compare with, and scripts that run in them and do a job when asked.

    python benchmarks/environments.py [nsl pyg walks neighbors]   # makes them, or all; else it is done when needed

Environments are made when first needed, in `.venv-peers/` of the repository or in the folder that NGM_PEERS names. One
that was not finished, or that other packages were asked of, is made anew. torch-sparse and torch-cluster are built from
source, which takes some minutes; where that fails, PyG goes without them. Remove the environment's folder to try again.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

HERE = Path(__file__).parent
FOLDER = Path(os.environ.get("NGM_PEERS") or HERE.parent / ".venv-peers")
SCRIPTS = HERE / "peers"
ANSWER = "answer "  # what the lines of peers/peer_worker.py begin with
OWN = "ngm"  # the environment that this process runs in


@dataclass(frozen=True)
class Environment:
    """Packages to install.

    Args:
        packages: What pip installs.
        compiled: What pip builds from source afterwards, against `packages`; left out where that fails.
        shown: Packages whose versions are reported.
    """

    packages: tuple[str, ...]
    shown: tuple[str, ...]
    compiled: tuple[str, ...] = ()


ENVIRONMENTS = {
    OWN: Environment((), ("neural-graph-machines", "torch", "numpy")),
    "nsl": Environment(
        ("tensorflow-cpu==2.15.*", "neural-structured-learning==1.4.0", "numpy<2", "pandas<2.3", "scipy"),
        ("neural-structured-learning", "tensorflow-cpu", "numpy"),
    ),
    "pyg": Environment(
        ("torch==2.13.0", "torch_geometric", "numpy", "scipy", "setuptools<81", "wheel", "ninja"),
        ("torch-geometric", "torch", "torch-sparse", "torch-cluster"),
        ("torch-scatter", "torch-sparse", "torch-cluster"),
    ),
    "walks": Environment(("pecanpy==2.0.9", "fastnode2vec==0.0.7"), ("pecanpy", "fastnode2vec", "numba", "numpy")),
    "neighbors": Environment(
        ("faiss-cpu>=1.8", "hnswlib>=0.8", "pynndescent>=0.5.13", "usearch>=2.15", "numpy"),
        ("faiss-cpu", "hnswlib", "pynndescent", "usearch", "numpy"),
    ),
}


def python_of(name: str) -> Path:
    """The Python of an environment, which is made where it is missing."""
    if name == OWN:
        return Path(sys.executable)
    wanted, folder = ENVIRONMENTS[name], FOLDER / name
    python, mark = folder / "bin" / "python", folder / "packages.json"
    told = json.dumps([wanted.packages, wanted.compiled])
    if mark.exists() and mark.read_text(encoding="utf-8") == told:
        return python
    print(f"making the environment {name} in {folder.parent.name}/", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    _install(python, wanted.packages, ())
    for package in wanted.compiled:
        try:
            _install(python, [package], ("--no-build-isolation",))
        except subprocess.CalledProcessError:
            print(f"{package} could not be built and is left out", file=sys.stderr, flush=True)
    mark.write_text(told, encoding="utf-8")
    return python


def _install(python: Path, packages: Sequence[str], options: Sequence[str]) -> None:
    constraints = str(HERE.parent / "constraints.txt")
    command = [str(python), "-m", "pip", "install", "--quiet", "-c", constraints, *options, *packages]
    path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"  # ninja is there: files in parallel
    subprocess.run(command, check=True, stdout=sys.stderr, env=os.environ | {"PATH": path})


def versions_of(*names: str) -> dict[str, str]:
    """Versions of the packages that environments are about, those that are installed; of several, by environment."""
    code = (
        "import json, sys; from importlib import metadata as m\n"
        "def of(p):\n try: return m.version(p)\n except m.PackageNotFoundError: return None\n"
        "print(json.dumps({p: v for p in sys.argv[1:] if (v := of(p))}))"
    )
    found: dict[str, str] = {}
    for name in names:
        command = [str(python_of(name)), "-c", code, *ENVIRONMENTS[name].shown]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found |= {f"{p} ({name})" if p in found else p: v for p, v in json.loads(done.stdout).items()}
    return found


class WorkerError(RuntimeError):
    """A worker ended, or took longer than it may."""


class Worker:
    """A script of benchmarks/peers in a process of its own, which answers requests (see peers/peer_worker.py).

    Args:
        environment: A name of `ENVIRONMENTS`.
        script: A file of benchmarks/peers.
        arguments: Of its command line.
        threads: Threads that its libraries may use.
    """

    def __init__(self, environment: str, script: str, *arguments: object, threads: int = 2) -> None:
        names = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
        given = dict.fromkeys(names, str(threads)) | {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONUNBUFFERED": "1"}
        if environment == OWN:
            given["PYTHONPATH"] = str(HERE.parent)
        self.name = f"{environment}, {script}"
        self._process = subprocess.Popen(
            [str(python_of(environment)), str(SCRIPTS / script), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=os.environ | given,
        )
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, job: str, seconds: float = 1_200.0, **request: object) -> dict[str, Any]:
        """Sends a request and waits for the answer; after `seconds` the worker is ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"job": job, **request}) + "\n")
        try:
            answer = self._answers.get(timeout=seconds)
        except queue.Empty:
            self._process.kill()
            raise WorkerError(f"{self.name}: {job} not done within {seconds:.0f} s") from None
        if answer is None:
            raise WorkerError(f"{self.name}: {job} ended with exit code {self._process.wait()}")
        if "error" in answer:
            raise WorkerError(f"{self.name}: {job}: {answer['error']}")
        return answer

    def _read(self) -> None:
        """Takes answers, and drops what libraries print while they are imported; None says that there are no more."""
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            for line in stream:
                if line.startswith(ANSWER):
                    self._answers.put(json.loads(line.removeprefix(ANSWER)))
        self._answers.put(None)

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(timeout=20)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self._process.kill()
        self._process.wait()
        self._reader.join()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def take_turns(workers: Mapping[str, Worker], job: str, repeats: int, seconds: float = 1_200.0) -> dict[str, list[Any]]:
    """Answers of each worker to the same request, several times; workers take turns, so that slow moments hit all."""
    answers: dict[str, list[Any]] = {name: [] for name in workers}
    for repeat in range(repeats):
        for name, worker in workers.items():
            started = time.perf_counter()
            answers[name].append(worker.ask(job, seconds))
            took = time.perf_counter() - started
            print(f"  {job} {repeat + 1} of {repeats}, {name}: {took:.2f} s", file=sys.stderr, flush=True)
    return answers


def spread(values: Sequence[float]) -> float:
    """How far the slowest of several is above the fastest, as a part of it."""
    return max(values) / min(values) - 1


if __name__ == "__main__":
    for each in sys.argv[1:] or [name for name in ENVIRONMENTS if name != OWN]:
        print(each, versions_of(each))
