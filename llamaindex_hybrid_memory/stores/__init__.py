"""The log behind LlamaIndex's own memories."""
