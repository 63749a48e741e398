"""L2: the port that an index engine implements, and what the library builds on it."""
