"""The parts of `benchmarks/battery.py`: data, methods, cells that are run once, their summary, page and picture.

Imported before numpy and torch, it has them take one thread; the processes of a run inherit that.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
