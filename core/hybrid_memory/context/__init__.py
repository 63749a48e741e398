"""What a model is shown of a conversation: the plan of a prompt, and its layout."""
