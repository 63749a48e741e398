"""Blocks: labelled, size-limited pieces of working context, edited by agents and kept as events."""
