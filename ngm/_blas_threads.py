"""How many threads the linear algebra of numpy and scipy uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra of numpy and scipy on one thread inside; a context or a decorator.

    Small models take thousands of small products, and threads that wait for each other after each of them take twice
    as long as one. Threads of torch are left alone.
    """
    with threadpool_limits(1, user_api="blas"):
        yield
