"""The paper's tables as modules with `METHODS` and `run`: ours beside theirs."""

from ngm.reproduce import pubmed
from ngm.reproduce.table import Row, Table

TABLES = {"pubmed": pubmed}
__all__ = ["TABLES", "Row", "Table"]
