"""The other end of `environments.Worker`: reads requests, one JSON object a line, and answers each with one.

It needs nothing but Python itself, because it runs in environments of every kind. Answers begin with "answer "; what a
library prints once there are requests goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

Job = Callable[..., dict[str, Any]]


def peak_mib() -> float:
    """The most memory of this process; `ru_maxrss` would begin with that of the process which started it."""
    with Path("/proc/self/status").open(encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024


def serve(jobs: dict[str, Job]) -> None:
    """Answers requests until there are no more.

    Args:
        jobs: By name; each gets the other entries of a request as keywords, and its dictionary is the answer.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = jobs[request.pop("job")](**request)
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(f"answer {json.dumps(answer)}\n")
