"""An engine, an extractor, a strategy and a reranker for `hybrid_memory`."""
