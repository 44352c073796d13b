"""The parts of `benchmarks/table.py`: goals, the page and its plots."""
