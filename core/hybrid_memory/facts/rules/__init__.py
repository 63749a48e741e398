"""Claims read by rules: a table for each language, and the reading of a turn by them."""
