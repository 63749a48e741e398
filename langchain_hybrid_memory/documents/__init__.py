"""Memories as documents, and documents of any retriever ranked and shortened."""
