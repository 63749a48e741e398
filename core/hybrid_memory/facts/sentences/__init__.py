"""Sentences judged by meaning: whether they state a lasting fact about the speaker, and which."""
