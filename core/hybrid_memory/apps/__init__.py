"""What people and hosts use a memory with: the command, the MCP server, and the reader of chats of other programs.

All of it uses the public names of this library only.
"""
