"""Section 4.3: intents of short messages."""
