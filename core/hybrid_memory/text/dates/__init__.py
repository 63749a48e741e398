"""The times that a text names, in English and Chinese, as ranges of instants."""

from hybrid_memory.text.dates.finding import find_times

__all__ = ["find_times"]
