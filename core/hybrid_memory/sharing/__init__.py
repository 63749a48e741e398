"""Shared spaces: grants, rights and trust, and messages that wait for an admin."""
