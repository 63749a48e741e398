"""The memory of classic chains, and the log as a history of messages."""
