"""What `ngm train` does, step by step: what it was told, its data, its graph, the runs, what there is to tell."""
