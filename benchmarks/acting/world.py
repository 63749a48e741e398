"""The tools of the tasks, and what was done with them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.acting.prompts import Call

TRIFLES = tuple(
    "get_weather get_exchange_rate list_meetings find_contact translate_text set_reminder start_timer list_invoices "
    "get_invoice track_parcel list_parcels search_web open_ticket close_ticket list_tickets get_route list_files "
    "get_calendar".split()
)
"""Tools that nobody needs, but that an agent has bound."""


@dataclass
class World:
    """What the tools act on.

    Attributes:
        texts: what they read, by name.
        done: the calls with side effects, in their order.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    done: list[Call] = field(default_factory=list)

    def tools(self, names: Sequence[str]) -> list[Callable[..., str]]:
        """Functions with types and docstrings, of which a host makes tools."""
        return [self._trifle(name) if name in TRIFLES else getattr(self, name) for name in names]

    def read_file(self, path: str) -> str:
        """The whole text of a file."""
        return self.texts.get(path, f"no such file: {path}")

    def open_page(self, number: int) -> str:
        """A page of the handbook, by its number."""
        return self.texts.get(str(number), f"no such page: {number}")

    def look_up(self, topic: str) -> str:
        """What the library has about a topic."""
        return self.texts.get(topic, "nothing found")

    def run_tests(self) -> str:
        """Run all tests of the project, which takes an hour, and return their log."""
        return self._did("run_tests") and self.texts["log"]

    def send_mail(self, to: str, text: str) -> str:
        """Send a mail."""
        return self._did("send_mail", to=to, text=text)

    def delete_database(self, name: str) -> str:
        """Delete a database. This cannot be undone."""
        return self._did("delete_database", name=name)

    def book_table(self, place: str, day: str) -> str:
        """Book a table in a restaurant."""
        return self._did("book_table", place=place, day=day)

    def _did(self, tool: str, /, **arguments: Any) -> str:
        self.done.append(Call(tool, arguments))
        return "done"

    def _trifle(self, name: str) -> Callable[..., str]:
        def tool(subject: str, detail: str = "", limit: int = 10) -> str:
            return f"{name}: nothing for {subject} {detail} {limit}"

        tool.__name__ = name
        tool.__doc__ = (
            f"{name.replace('_', ' ').capitalize()}: pass what it is about as the subject, in the user's own words; "
            "a detail narrows it down, and at most as many rows as the limit says come back, the newest first."
        )
        return tool
