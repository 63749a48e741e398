"""What a model is shown of a conversation: its queue, the plan of a prompt, compaction, summaries, offloading."""
