"""What a model sees of a conversation: its queue, the plan of a prompt, compaction, summaries, offloading."""
