"""A memory as files: what is known, blocks and summaries under fixed paths, and free files that an agent writes."""
