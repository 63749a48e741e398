"""Claims made by turns, the facts and the profile derived from them, and the extractors."""
