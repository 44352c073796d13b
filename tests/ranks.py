"""Starts the programs of `tests.rank_programs` in several processes, and ends them whatever happens."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.benchmark_modules import Ended, Forked, Job

ROOT = Path(__file__).parent.parent
SECONDS = 180  # for everything that a test starts; a busy machine takes ten times as long as an idle one


def program(name: str, folder: Path) -> list[str]:
    """The words after `python` that run a program."""
    return ["-m", "tests.rank_programs", name, str(folder)]


def torchrun(*words: str, processes: int = 2) -> list[str]:
    """The words after `python` that run what torchrun is given."""
    return ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), *words]


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


@contextmanager
def started(
    words: Sequence[str], more: Mapping[str, str] | None = None, prefix: Sequence[str] = (), output: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Runs `python *words` in a session of its own, which is killed whole at the end.

    Args:
        words: After `python`.
        more: Of the environment.
        prefix: Before `python`, as to run it elsewhere.
        output: `subprocess.PIPE` to read standard output and standard error, as one.
    """
    inherited = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    env = inherited | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)} | dict(more or {})
    errors = subprocess.STDOUT if output == subprocess.PIPE else None
    process = subprocess.Popen(
        [*prefix, sys.executable, *words],
        cwd=ROOT,
        env=env,
        stdout=output,
        stderr=errors,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


RANKS = """
import os, sys, time, traceback
import tests.rank_programs
children = []
for environment in {environments!r}:
    child = os.fork()
    if child:
        children.append(child)
        continue
    code = 1
    try:
        os.environ.update(environment)
        exec(compile({code!r}, "program", "exec"), {{"__name__": "program"}})
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
left, codes, until = set(children), [], None
while left:  # as torchrun does, end the others when one ends badly
    child, status = os.waitpid(-1, 0 if until is None else os.WNOHANG)
    if child:
        left.discard(child)
        codes.append(os.waitstatus_to_exitcode(status))
        if codes[-1] and until is None:
            until = time.monotonic() + {patience}
    elif time.monotonic() > until:
        until = float("inf")
        for other in left:
            os.kill(other, 15)
    else:
        time.sleep(0.01)
print(*codes, file=sys.stderr)
sys.exit(int(any(codes)))
"""


def run_ranks(
    server: Forked,
    code: str,
    world: int,
    ranks: tuple[str, str] = ("RANK", "WORLD_SIZE"),
    more: Mapping[str, str] | None = None,
    patience: float = 0.1,
) -> Ended:
    """Runs code in so many forked processes that find each other through the environment; how they ended.

    Args:
        server: Forks them; it has imported torch.
        code: For all of them.
        world: How many.
        ranks: The names of the variables with their rank and number.
        more: Of the environment.
        patience: Seconds that the others have to end by themselves once one has ended badly.
    """
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), ranks[1]: str(world), **(more or {})}
    environments = [shared | {ranks[0]: str(rank)} for rank in range(world)]
    script = RANKS.format(environments=environments, code=code, patience=patience)
    return server.run(Job((), str(ROOT), script=script))


def in_ranks(name: str, folder: Path, module: str = "rank_programs") -> str:
    """Code for `run_ranks` that runs a program of a module of `tests`."""
    return f"from pathlib import Path\nfrom tests import {module}\n{module}.{name}(Path({str(folder)!r}))"


def run_command(*words: str) -> str:
    """Code for `run_ranks` that runs `ngm`."""
    command = f"import sys\nfrom ngm.cli import main\nsys.argv = {['ngm', *words]!r}"
    return f"{command}\ntry:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code"


def succeed(processes: Sequence[subprocess.Popen[str]]) -> None:
    """Waits for processes whose output is read, and shows it where one fails."""
    for process in processes:
        output, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, output
