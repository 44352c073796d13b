"""Kills and bad input by the hundred: what is left afterwards, and what is said.

    python benchmarks/faults.py --kills 100 --fuzz 10000 [--seed 0] [--json FILE]

`--kills` sends SIGKILL at random moments to every command that writes, and to trainings in rounds (`kills.py`);
`--fuzz` hands random bad input to readers, constructors and estimators (`fuzz.py`). The exit code is 1 where anything
was not as promised.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
import time
from importlib import metadata
from pathlib import Path

PACKAGES = ("neural-graph-machines", "torch", "numpy", "duckdb", "safetensors", "scikit-learn")


def main() -> int:
    options = _options()
    started = time.perf_counter()
    result: dict[str, object] = {
        "command": shlex.join(["python", *sys.argv]),
        "seed": options.seed,
        "cores": os.cpu_count(),
        "versions": {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}},
    }
    failed = 0
    if options.kills:
        import kills

        rows = kills.run(options.kills, options.seed)
        result["kills"] = kills.as_json(rows)
        failed += sum(len(row.failures) for row in rows)
    if options.fuzz:
        import fuzz

        counts = fuzz.run(options.fuzz, options.seed)
        print(*fuzz.findings(counts), fuzz.table(counts), sep="\n")
        result["fuzz"] = fuzz.as_json(counts)
        failed += sum(count.findings for count in counts.values())
    result["seconds"] = round(time.perf_counter() - started)
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return int(failed > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=0, help="so many processes are killed")
    parser.add_argument("--fuzz", type=int, default=0, help="so many bad inputs are tried")
    parser.add_argument("--seed", type=int, default=0, help="of moments and inputs")
    parser.add_argument("--json", type=Path, help="file for the counts, with command, seed and versions")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
