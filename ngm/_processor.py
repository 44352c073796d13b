"""What this processor really computes, as opposed to what it announces.

Some virtual machines announce matrix tiles (AMX) and then refuse the instructions: the first bfloat16 product of
oneDNN ends the process with an illegal instruction, which no `except` can catch. So a forked child tries one first.
"""

from __future__ import annotations

import faulthandler
import os
import time
import warnings
from collections.abc import Callable
from functools import cache

import torch

SECONDS = 5.0  # after which a child counts as hung
REMEDY = "start Python with ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 in the environment"


@cache
def multiplies(dtype: torch.dtype) -> bool:
    """Whether a matrix product in torch.int8 or torch.bfloat16 works here; tried once, in about 20 ms."""
    if hasattr(torch.cpu, "get_capabilities"):
        can = torch.cpu.get_capabilities()
        announced = bool(can.get("amx_bf16") or can.get("amx_int8") or can.get("amx_tile"))
    else:
        announced = hasattr(os, "fork")  # some torch cannot say, so it is tried wherever it can be
    if not announced:
        return True  # no tiles announced, so none is used
    return survives(lambda: _multiply(dtype))


@cache
def bfloat16_pays() -> bool:
    """Whether the processor multiplies bfloat16 itself; where it does not, products are many times slower."""
    if not hasattr(torch.cpu, "get_capabilities"):
        return False
    can = torch.cpu.get_capabilities()
    return bool(can.get("avx512_bf16") or can.get("amx_bf16")) and multiplies(torch.bfloat16)


def check_bfloat16() -> None:
    """Refuses bfloat16 where a product in it would end the process."""
    if not multiplies(torch.bfloat16):
        raise ValueError(
            "dtype is 'bfloat16', but this machine announces AMX and refuses its instructions, so that a product in "
            f"bfloat16 would end the process; {REMEDY}, or set dtype='float32'"
        )


def survives(work: Callable[[], object]) -> bool:
    """Whether a forked child comes back from `work` without an error, a signal or `SECONDS` passing."""
    if not hasattr(os, "fork"):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of threads; the child uses only its own
        child = os.fork()
    if child == 0:
        code = 1
        try:
            faulthandler.disable()  # a signal is an answer here, not a fault
            torch.set_num_threads(1)  # the parent's thread pool did not come along
            work()
            code = 0
        finally:
            os._exit(code)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.001)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


def _multiply(dtype: torch.dtype) -> None:
    rows = torch.ones(64, 64, dtype=dtype)
    (torch._int_mm if dtype == torch.int8 else torch.mm)(rows, rows)
