"""Conversations as they were recorded elsewhere, read into one shape."""
