"""Sentences judged by meaning: whether they state something lasting of the speaker, and what."""
