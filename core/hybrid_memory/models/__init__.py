"""What needs weights: embedders."""
