"""Section 4.3: intents of short messages."""

DATASETS = ("swda20", "clinc20", "clinc20-few")
