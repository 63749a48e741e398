"""An engine, an extractor, a strategy and a ranker for `hybrid_memory`."""
