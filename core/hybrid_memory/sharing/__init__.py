"""Shared spaces: grants, rights and trust, and messages that await an admin's approval."""
