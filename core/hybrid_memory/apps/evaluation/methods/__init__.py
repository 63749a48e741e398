"""What stands between a long conversation and a model, behind one port: ours, and what others register."""
