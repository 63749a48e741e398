"""The artifact ledger: what a working agent did, read from its calls and their results without a model."""
