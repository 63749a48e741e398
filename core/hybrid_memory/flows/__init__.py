"""The verbs, one a file, each written once as a coroutine that reaches the world through a runner."""
