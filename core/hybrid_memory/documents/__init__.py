"""Named values with history: a block, a file and a store item are views of one."""
