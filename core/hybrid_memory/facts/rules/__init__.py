"""Claims extracted by rules: a table for each language, and the code that applies it."""
