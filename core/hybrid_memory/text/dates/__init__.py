"""Times named in English and Chinese texts, as ranges of instants."""

from hybrid_memory.text.dates.finding import find_times

__all__ = ["find_times"]
