"""Section 4.4: PubMed, Cora and Citeseer."""

from typing import get_args

from ngm.choices import Citations

DATASETS: tuple[str, ...] = get_args(Citations)
