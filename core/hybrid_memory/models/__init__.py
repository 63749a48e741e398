"""Models behind their ports: embedders in batches, language models, LLMLingua, token counters."""
