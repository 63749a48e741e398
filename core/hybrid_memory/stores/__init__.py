"""Engines: one file or folder each; they implement the ports and know nothing of each other."""
