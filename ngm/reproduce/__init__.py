"""The paper's tables as modules with `METHODS` and `run`: ours beside theirs."""

from ngm.reproduce import ag_news, blogcatalog, intents, pubmed
from ngm.reproduce.table import Row, Table

TABLES = {"ag-news": ag_news, "blogcatalog": blogcatalog, "intents": intents, "pubmed": pubmed}
__all__ = ["TABLES", "Row", "Table"]
