"""What is learned from turns: claims by rules or by a model, facts that follow from them, and the user's profile."""
