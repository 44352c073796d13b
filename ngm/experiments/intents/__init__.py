"""Section 4.3: intents of short messages."""

from typing import get_args

from ngm.choices import Intents

DATASETS: tuple[str, ...] = get_args(Intents)
