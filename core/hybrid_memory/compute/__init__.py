"""When and where work runs: the runners of the two faces, and caches."""
