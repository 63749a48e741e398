"""Pure functions about strings."""
