"""Hybrid memory for other agent frameworks, one module each: import the module of the framework you use.

`hybrid_memory_hosts.anthropic` is the memory tool of the Anthropic SDK; `hybrid_memory_hosts.openai_agents`,
`hybrid_memory_hosts.pydantic_ai` and `hybrid_memory_hosts.google_adk` provide sessions, recall and tools.
"""
