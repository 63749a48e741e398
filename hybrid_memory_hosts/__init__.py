"""Hybrid memory for other hosts of agents, a module for each: import the one whose package you have.

`hybrid_memory_hosts.anthropic` is the memory tool of the Anthropic SDK; `hybrid_memory_hosts.openai_agents`,
`hybrid_memory_hosts.pydantic_ai` and `hybrid_memory_hosts.google_adk` have sessions, recall and tools.
"""
