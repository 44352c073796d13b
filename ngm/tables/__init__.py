"""Tables in: files of any of the usual formats, tables in memory and DuckDB queries, and edges made from them.

query       rows that DuckDB has not read yet
statements  what a query does and which files it reads
forms       how a text file is laid out
text_files  text files and their parts
sources     where a table comes from, made ready for DuckDB
table       `Table` and `read_table`
guesses     which column is which
stream      tables read piece by piece, whatever their size
ends        ids numbered, ends looked up
edge_files  edges sorted, merged and written
overlap     outputs that would replace what is read
ingest      all of it: tables in, a graph folder out
"""

from ngm.tables.query import Bad
from ngm.tables.sources import Frame, Source
from ngm.tables.table import Table, read_table

__all__ = ["Bad", "Frame", "Source", "Table", "read_table"]
