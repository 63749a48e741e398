"""Questions about what a conversation has left behind, made from the conversation itself."""
