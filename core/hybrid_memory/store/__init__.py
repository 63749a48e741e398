"""The basis of all verbs: services and views, writing, indexing, forgetting, and the Projection."""
