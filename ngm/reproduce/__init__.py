"""The paper's tables as modules with `METHODS` and `run`: ours beside theirs."""

from ngm.reproduce import blogcatalog, pubmed
from ngm.reproduce.table import Row, Table

TABLES = {"blogcatalog": blogcatalog, "pubmed": pubmed}
__all__ = ["TABLES", "Row", "Table"]
