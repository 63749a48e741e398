"""Extraction of claims with a language model."""
