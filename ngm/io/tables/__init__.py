"""Tables in: files of any of the usual formats, tables in memory and DuckDB queries, and edges made from them.

query           rows that DuckDB has not read yet
statements      what a query does and which files it reads
text_format     how a text file is laid out
text_files      text files and their parts
sources         where a table comes from, made ready for DuckDB
table           `Table` and `read_table`
column_guesses  which column is which
stream          tables read piece by piece, whatever their size
edge_ends       ids numbered, ends looked up
edge_files      edges sorted, merged and written
output_overlap  outputs that would replace what is read
ingest          all of it: tables in, a graph folder out
"""

from ngm.io.tables.query import RejectedRows
from ngm.io.tables.sources import Frame, Source
from ngm.io.tables.table import Table, read_table

__all__ = ["Frame", "RejectedRows", "Source", "Table", "read_table"]
