"""Hybrid memory for other hosts of agents, a module for each: import the one whose package you have.

`hybrid_memory_hosts.anthropic` is the memory tool of the Anthropic SDK.
"""
