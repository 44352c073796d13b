"""Recipes turn a problem with few labels into targets for all nodes: teachers, their weights, soft labels."""
