"""Tells an answer of ours from an accident.

A case is accepted where the call returns, and refused where it ends in an error that a `raise` statement of `ngm`
itself raised (or one of scikit-learn's checks of arguments, which are called for their messages). Everything else is a
finding: an exception from inside numpy, torch, DuckDB or an expression of ours, a warning that is not ours, a case
that takes too long, and temporary files left behind.
"""

from __future__ import annotations

import ast
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType, TracebackType

SECONDS = 20  # for one case; a usual one takes milliseconds
_REFUSALS = (ValueError, TypeError, OSError, ImportError, ArithmeticError, RuntimeError)
_ODD = (NotImplementedError, RecursionError, UnicodeError)  # kinds of the above that say nothing to a user
# where scikit-learn checks arguments: its messages are part of its contract, which our estimators keep
_CHECKS = ("sklearn/utils/validation.py", "sklearn/utils/multiclass.py", "sklearn/base.py")


class CommandError(Exception):
    """A command printed or returned what no command may."""


class RefusedError(Exception):
    """A command refused an option."""


class _TooLongError(BaseException):
    """A case ran out of its time; no `except Exception` catches it."""


def judge(call: Callable[[], object], folder: Path, temporary: Path) -> tuple[str, str]:
    """Runs a case.

    Args:
        call: What is judged.
        folder: The case's own, which may hold nothing hidden afterwards.
        temporary: Where temporary files go, which must be empty afterwards.

    Returns:
        ("accepted", ""), ("refused", the message) or ("finding", what happened and where).
    """
    odd: list[str] = []
    try:
        with _alarm(), _noted_warnings(odd):
            call()
        found = ("accepted", "")
    except _TooLongError:
        found = ("finding", f"took more than {SECONDS} s")
    except (Exception, SystemExit) as error:
        found = ("refused", str(error)) if _is_ours(error) else ("finding", described(error))
    if found[0] != "finding" and odd:
        found = ("finding", odd[0])
    left = leftovers(folder, temporary) if found[0] != "finding" else []
    return ("finding", f"left behind {', '.join(left)}") if left else found


def described(error: BaseException) -> str:
    """Kind and message of an error, and the last lines of `ngm` and of all that it passed."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if _in_ngm(frame.filename)]
    places = {f"{Path(f.filename).name}:{f.lineno}": None for f in (*ours[-1:], *frames[-1:])}
    return f"{type(error).__name__} at {' <- '.join(places)}: {' '.join(str(error).split())[:200]}"


def _is_ours(error: BaseException) -> bool:
    if isinstance(error, RefusedError) or _of_the_system(error):
        return True
    if not isinstance(error, _REFUSALS) or isinstance(error, _ODD) or not str(error).strip():
        return False
    innermost = _innermost(error.__traceback__)
    if innermost is None:
        return False
    file, line = innermost.tb_frame.f_code.co_filename, innermost.tb_lineno
    if any(frame.filename.endswith(_CHECKS) for frame in traceback.extract_tb(error.__traceback__)):
        return type(error) in (ValueError, TypeError)
    return _in_ngm(file) and _in_node(file, line, ast.Raise)


def _of_the_system(error: BaseException) -> bool:
    """Whether it says, in the words of the operating system, what is wrong with which file."""
    return isinstance(error, OSError) and error.errno is not None and error.filename is not None


def _innermost(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


@cache
def _root() -> str:
    import ngm

    return str(Path(ngm.__file__).parent) + "/"


def _in_ngm(file: str) -> bool:
    return file.startswith(_root())


def _in_node(file: str, line: int, kind: type[ast.Raise] | type[ast.Call]) -> bool:
    """Whether a line is part of a `raise` statement, or of a call of `warnings.warn`."""
    return any(start <= line <= end for start, end in _spans(file, kind))


@cache
def _spans(file: str, kind: type[ast.Raise] | type[ast.Call]) -> list[tuple[int, int]]:
    spans = []
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, kind) and (called is None or getattr(called, "attr", None) == "warn"):
            spans.append((node.lineno, node.end_lineno or node.lineno))
    return spans


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _noted_warnings(odd: list[str]) -> Iterator[None]:
    """Notes warnings that no `warnings.warn` of ours gave."""

    def note(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, *rest: object, **more: object
    ) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.endswith(("/warnings.py", "/_py_warnings.py")):
            frame = frame.f_back
        if frame is None:
            return
        file, line = frame.f_code.co_filename, frame.f_lineno
        if not file.endswith(_CHECKS) and not (_in_ngm(file) and _in_node(file, line, ast.Call)):
            ours = next((f for f in _callers(frame) if _in_ngm(f.f_code.co_filename)), frame)
            places = {f"{Path(f.f_code.co_filename).name}:{f.f_lineno}": None for f in (ours, frame)}
            odd.append(f"{category.__name__} at {' <- '.join(places)}: {' '.join(str(message).split())[:200]}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        yield


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def leftovers(folder: Path, temporary: Path) -> list[str]:
    """Names of temporary files in the case's folder and in the folder for such files."""
    hidden = [str(path.relative_to(folder)) for path in folder.rglob(".*") if path.name != ".in"]
    names = [path.name for path in temporary.iterdir()]
    return sorted(hidden) + sorted(name for name in names if not name.startswith("torchinductor"))  # torch's own cache
