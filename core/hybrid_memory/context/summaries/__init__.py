"""Summaries: what is worth a line, the strategies that write lines, and the proof of what survived."""
