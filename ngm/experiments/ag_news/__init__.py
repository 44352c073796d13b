"""Section 4.2: AG News."""
