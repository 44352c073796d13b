"""Section 4.4: PubMed, Cora and Citeseer."""

DATASETS = ("pubmed", "cora", "citeseer")
