"""From raw matches to scores in [0, 1]: signals, the weighted sum, diversity; pure functions over arrays."""
