"""Summaries: what is worth a line, the strategies that write lines, and the audit of what survived."""
