"""The benchmark of characters runs on a small number of texts and says what it should."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "text.py"


def test_the_small_run_prints_one_object_of_ratios_and_memory() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "NGM_DATA"} | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", str(SCRIPT), "--quick", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["texts"] == "500 made up"
    assert found["bytes_per_text"]["one-hot float32, padded"] == 4 * 70 * 1014
    # a byte per character, and for each text 8 bytes to say where it begins, once more for the end of the last
    characters = found["bytes_per_text"]["one-hot float32, each as long as it is"] / (4 * 70)
    assert abs(found["bytes_per_text"]["bytes"] - (characters + 8 * 501 / 500)) < 1e-6
    plain = found["seconds"]["plain: one-hot, padded"]
    ours = found["seconds"]["ours: look-up, bucketed"]
    assert found["ratios"]["ours: look-up, bucketed / plain, texts per second"] == plain / ours
    assert found["texts_per_second"]["ours: look-up, bucketed"] == 64 / ours
