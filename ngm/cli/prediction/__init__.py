"""Parts of `ngm predict`.

items      what is predicted, piece by piece: rows of a table, nodes of a graph, new nodes by their links
predicted  classes, labels or numbers as columns, and what there is to tell of them
outputs    files that grow: CSV, JSON lines, Parquet
execution  all of it: rows in, predictions out
"""
