"""A memory as files: facts, blocks and summaries under fixed paths, and free files that an agent writes."""
