"""What people and models use a memory with: the command, the inspector, the MCP server, evaluation, a paged agent.

All of it uses the public names of this library only.
"""
