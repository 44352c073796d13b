"""Commands of `ngm` and scripts, each in a process of its own that does not wait for Python and torch to start.

A server imports everything once and forks a child for each job. A child runs its job as a new process would, and ends
as one does but for the destruction of objects: exit functions run, streams are flushed. The server sends it signals at
given moments; with `kill_at` it kills itself with SIGKILL just before its n-th change to the disk: a file opened for
writing, a name made, changed or removed.
"""

from __future__ import annotations

import atexit
import importlib
import json
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
IMPORTED = (  # what commands import when they need it, and `ngm.cli` does not
    "ngm.cli",
    "ngm.cli.training.summary_table",
    "ngm.cli.training.terminal_monitor",
    "ngm.estimators.co_training",
    "ngm.estimators.self_training",
    "ngm.io.tables",
    "ngm.report",
    "ngm.workflow.prediction",
    "ngm.workflow.training",
    "pandas",
    "sklearn.linear_model",
    "torch.export",
)
CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate")
SECONDS = 300.0  # after which a job counts as hung, and is killed
CLOSED = "a pipe that nobody reads"


@dataclass(frozen=True)
class Signal:
    """A signal for a job.

    Args:
        number: Such as signal.SIGKILL.
        after: Seconds from the start of the job, or from the moment that the file is there.
        file: Name or pattern within the job's folder to wait for first.
    """

    number: int
    after: float = 0.0
    file: str | None = None


@dataclass(frozen=True)
class Job:
    """What a child does.

    Args:
        words: Arguments of `ngm`; with `script`, its `sys.argv`.
        folder: Where it runs.
        script: Python code, in place of a command.
        kill_at: The child kills itself before this change to the disk, 1 for the first; None for never.
        signals: To be sent, one after the other.
        output: A file for standard output, or `CLOSED`; one that is read and removed where not given.
        umask: Of the child.
    """

    words: Sequence[str]
    folder: str
    script: str | None = None
    kill_at: int | None = None
    signals: Sequence[Signal] = ()
    output: str | None = None
    umask: int = 0o022


@dataclass(frozen=True)
class Ended:
    """How a job ended.

    Args:
        code: Its exit code; minus the number of the signal that ended it.
        out: What it printed.
        err: What it printed on standard error.
        seconds: How long it took.
        changes: To the disk, that it began.
    """

    code: int
    out: str
    err: str
    seconds: float
    changes: int


class Forked:
    """A server for jobs, one at a time."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
        self.environment |= dict(environment or {})

    def __enter__(self) -> Forked:
        self.place = tempfile.TemporaryDirectory()
        (request, self.send), (self.receive, reply) = os.pipe(), os.pipe()
        command = [sys.executable, str(Path(__file__).resolve()), str(request), str(reply), self.place.name]
        self.process = subprocess.Popen(command, env=self.environment, pass_fds=[request, reply], cwd=ROOT)
        os.close(request)
        os.close(reply)
        self.replies = os.fdopen(self.receive, encoding="utf-8")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self.send)
        self.replies.close()
        self.process.wait()
        self.place.cleanup()

    def start(self, job: Job) -> None:
        """Starts a job; `wait` gives its end."""
        os.write(self.send, (json.dumps(asdict(job)) + "\n").encode())

    def wait(self) -> Ended:
        """How the job ended."""
        return Ended(**json.loads(self.replies.readline()))

    def run(self, job: Job) -> Ended:
        """Runs a job to its end."""
        self.start(job)
        return self.wait()


# In the server


def serve(requests: int, replies: int, place: Path) -> None:
    """Forks a child for each line of `requests`; in the child, returns from here once its job is done."""
    out, err = place / "out", place / "err"
    for name in IMPORTED:
        importlib.import_module(name)
    count = mmap.mmap(-1, 8)  # shared with the children
    with os.fdopen(requests, encoding="utf-8") as lines, os.fdopen(replies, "w", encoding="utf-8") as answers:
        for line in lines:
            content = json.loads(line)
            job = Job(**content | {"signals": [Signal(**each) for each in content["signals"]]})
            for file in (out, err):
                file.write_bytes(b"")
            count[:] = bytes(8)
            started = time.monotonic()
            pid = os.fork()
            if not pid:
                _child(job, str(out), str(err), count)
            code, seconds = _watched(pid, job, started), time.monotonic() - started
            ended = Ended(code, _text(out), _text(err), seconds, int.from_bytes(count[:], "little"))
            answers.write(json.dumps(asdict(ended)) + "\n")
            answers.flush()


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _watched(pid: int, job: Job, started: float) -> int:
    """Sends the signals of a job as their moments come, and waits for its end."""
    waiting, since = list(job.signals), started
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        now = time.monotonic()
        if waiting and waiting[0].file is not None and any(Path(job.folder).glob(waiting[0].file)):
            waiting[0], since = Signal(waiting[0].number, waiting[0].after), now
        if waiting and waiting[0].file is None and now - since >= waiting[0].after:
            os.kill(pid, waiting.pop(0).number)
            since = now
        if now - started > SECONDS:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.0005)


def _child(job: Job, out: str, err: str, count: mmap.mmap) -> NoReturn:
    """Does a job, and ends the process."""
    code = 1
    try:
        _become(job, out, err, count)
        code = _done(job)
    except BaseException:
        traceback.print_exc()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError as error:  # as Python says it when a process ends
        sys.stderr.write(f"Exception ignored in: <stdout>: {error!r}\n")
        code = 120
    sys.stderr.flush()
    os._exit(code)


def _become(job: Job, out: str, err: str, count: mmap.mmap) -> None:
    """Makes this process what a new one would be."""
    os.umask(job.umask)
    os.chdir(job.folder)
    read, write = os.pipe() if job.output == CLOSED else (None, os.open(job.output or out, os.O_WRONLY | os.O_CREAT))
    if read is not None:
        os.close(read)
    os.dup2(write, 1)
    os.dup2(os.open(err, os.O_WRONLY), 2)
    sys.addaudithook(_counting(job, count))
    sys.argv = ["ngm", *job.words]


def _done(job: Job) -> int:
    """The exit code of a job."""
    try:
        if job.script is not None:
            exec(compile(job.script, "script", "exec"), {"__name__": "__main__"})
            return 0
        from ngm.cli import main

        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _absolute(path: str | bytes) -> str:
    return str(Path.cwd() / os.fsdecode(path))


def _counting(job: Job, count: mmap.mmap) -> Callable[[str, tuple[Any, ...]], None]:
    """Counts changes to the disk below the job's folder, and kills the process when it is time to."""
    folder = os.path.realpath(job.folder)
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT

    def hook(event: str, words: tuple[Any, ...]) -> None:
        if event not in CHANGES and not (event == "open" and isinstance(words[2], int) and words[2] & writing):
            return
        if isinstance(words[0], int) or not _absolute(words[0]).startswith(folder):
            return
        done = int.from_bytes(count[:], "little") + 1
        count[:] = done.to_bytes(8, "little")
        if done == job.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    return hook


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
