"""Whether ray is there."""

from __future__ import annotations


def check_ray(function: str) -> None:
    """Refuses to go on without ray.

    Args:
        function: What needs it, for the message.
    """
    try:
        import ray.data
        import ray.train.torch  # noqa: F401
    except ImportError:
        raise ImportError(f"{function} needs ray: pip install 'neural-graph-machines[ray]'") from None
