"""What of a URL may be shown: never a password, wherever one stands in it, and whatever characters it has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import SplitResult, quote, unquote, urlsplit

E = TypeVar("E", bound=BaseException)

HIDDEN = "***"  # stands where something was left out

ENCODE = "write the port as a number, and / ? # @ % in user and password as %2F %3F %23 %40 %25"
"""What to do about a URL that cannot be read."""

_PUBLIC = {"prefix", "schema", "table"}  # options of a query whose values are shown

_FILES = {"sqlite", "chdb"}
_CREDENTIALS = re.compile(r":.*@", re.DOTALL)
_PLACE = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^:/?#@\[\]]*)(?::\d*)?(?=[/?#]|$)")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def shown_url(url: str) -> str:
    """The URL without user and password, and without values of options that may be one.

    What cannot be told apart from a password goes too: of a URL that is malformed not much is left.
    """
    scheme, found, rest = url.partition("://")
    if not found:
        return url
    named, mark, query = rest.partition("?")
    file = scheme in _FILES or not _CREDENTIALS.search(named)
    if named.startswith("/") and "@" not in query and file:  # what looks like a user is part of its name
        return f"{scheme}://{named}{mark}{_options(query)}"
    credentials, at, place = rest.rpartition("@")
    place, fragment, _ = place.partition("#")
    place, mark, query = place.partition("?")
    if "?" in credentials or "#" in credentials or not _PLACE.match(place):
        return f"{scheme}://{HIDDEN}"
    hidden = f"{HIDDEN}@" if at else ""
    return f"{scheme}://{hidden}{place}{mark}{_options(query)}{fragment and f'#{HIDDEN}'}"


def parts_of(url: str) -> SplitResult | None:
    """The parts of a URL; None if it is malformed. An error would keep it in its context, password and all."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - read when asked for
    except ValueError:
        return None
    return parts


def without_passwords(value: Any) -> Any:
    """A value, perhaps of lists and dictionaries, with each URL in it as `shown_url` shows it."""
    if isinstance(value, str):
        return shown_url(value) if _URL.match(value) else value
    if isinstance(value, Mapping):
        return {name: without_passwords(inner) for name, inner in value.items()}
    return [without_passwords(inner) for inner in value] if isinstance(value, list | tuple) else value


def without(text: str, secrets: Iterable[str | None]) -> str:
    """The text without these, as they are or as they stand in a URL."""
    forms = {form for secret in secrets if secret for form in (secret, quote(secret, safe=""), unquote(secret))}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def cleaned(error: E, secrets: Sequence[str | None]) -> E:
    """The same exception of a client, whose texts, and those behind it, are without these."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        behind = left.pop()
        if behind is None or id(behind) in seen:
            continue
        seen.add(id(behind))
        behind.args = tuple(without(part, secrets) if isinstance(part, str) else part for part in behind.args)
        for name, value in vars(behind).items():
            if isinstance(value, str):
                setattr(behind, name, without(value, secrets))
        left += [
            behind.__cause__,
            behind.__context__,
            *(part for part in behind.args if isinstance(part, BaseException)),
        ]
    return error


def _options(query: str) -> str:
    """The options that are known to be no secret; not even the names of others, as a password may have a ``&``."""
    parts = query.split("&") if query else []
    return "&".join(part if part.partition("=")[0] in _PUBLIC else HIDDEN for part in parts)
