"""Files: written whole or not at all, locked, hashed, fetched; graph folders, run folders and tables.

files          files and folders that appear whole or not at all
locks          one writer at a time in a folder
fetch          files of data sets and encoders, checked by sha256
hashing        digests that tell data from other data
git_commit     the commit that a project is at
graph_folder   a graph as memory-mapped arrays
graph_data     a graph with the users' ids, labels and columns
run_folder     everything about one training run
node_records   what a run keeps of its nodes
table_columns  columns of a table as texts or numbers, matrices from files
tables         tables in, through DuckDB
"""
