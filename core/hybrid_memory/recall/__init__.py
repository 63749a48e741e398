"""Recall: query plan, candidates and signals, the ranker, and hits that explain themselves."""
