"""Models: embedders with batching, language models, rerankers, LLMLingua, token counters."""
