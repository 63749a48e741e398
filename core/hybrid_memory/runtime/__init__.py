"""Where and when work runs: runners, the scheduler with its worker pool, caches, statistics."""
