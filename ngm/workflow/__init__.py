"""What commands do between options and output, without printing: tables in, predictions out.

alignment         rows of a table in the order of the nodes of a graph
label_columns     columns by name, labels
prediction_items  what is predicted, piece by piece: rows of a table, nodes of a graph, new nodes by their links
predictions       what a network predicts, as columns
prediction_files  rows written as they come: CSV, JSON lines or Parquet
"""
