"""L2: the port that an index engine implements, and what the library makes of it."""
