"""What all verbs stand on: services and views, writing, indexing, forgetting, and the Projection."""
