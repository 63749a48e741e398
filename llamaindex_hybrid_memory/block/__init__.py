"""The memory as a block of LlamaIndex's own ``Memory``."""
