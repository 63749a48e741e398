"""Execution: runners, the scheduler with its worker pool, caches, statistics."""
