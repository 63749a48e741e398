"""Memories as nodes, and nodes of any retriever ranked and shortened."""
