"""Inputs made from the graph: something with a row per node."""
