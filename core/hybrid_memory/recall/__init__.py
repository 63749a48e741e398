"""Recall: the plan of a query, its candidates and signals, the ranker, and hits that explain themselves."""
