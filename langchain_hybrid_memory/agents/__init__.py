"""The memory of agents made by ``create_agent``."""
