"""A dozen processes killed with SIGKILL at random moments; `benchmarks/faults.py --kills 100` is the long form."""

from __future__ import annotations

from tests.test_faults import kills

TARGETS = ("train columns paper", "train graph paper", "ingest", "build", "predict parquet", "report")


def test_whatever_is_killed_loads_or_is_not_there_and_a_rerun_leaves_the_bits_of_an_uninterrupted_run() -> None:
    targets = [target for target in kills.TARGETS if target.name in TARGETS]
    rows = kills.run(12, seed=1, targets=targets, say=lambda line: None)
    assert [wrong for row in rows for wrong in row.failures] == []
    total = kills.as_json(rows)["total"]
    assert total["kills"] == total["same"] == total["before"] + total["middle"] + total["after"] == 12
    assert total["middle"], "no kill came in the middle of anything: choose another seed"
