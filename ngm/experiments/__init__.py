"""The paper's tables as modules with `METHODS` and `run`: ours beside theirs."""

from ngm.experiments.ag_news import protocol as ag_news
from ngm.experiments.blogcatalog import protocol as blogcatalog
from ngm.experiments.citations import protocol as pubmed
from ngm.experiments.intents import protocol as intents
from ngm.experiments.table import Row, Table

TABLES = {"ag-news": ag_news, "blogcatalog": blogcatalog, "intents": intents, "pubmed": pubmed}
__all__ = ["TABLES", "Row", "Table"]
