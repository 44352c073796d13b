"""The parts of `benchmarks/scale.py`: what a process does, the projection, and the page."""
