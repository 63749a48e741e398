"""Who wrote an event of a shared space."""

from __future__ import annotations

import re
from ast import literal_eval

from hybrid_memory.scope import Scope


def author_of(principal: Scope) -> str:
    """The user and the agent as the text that events carry."""
    return str(Scope(user=principal.user, agent=principal.agent))


def principal_of(author: str) -> Scope:
    """The user and the agent behind `author_of`."""
    return Scope(**{name: literal_eval(value) for name, value in _PART.findall(author)})


_PART = re.compile(r"(\w+)=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")

QUARANTINE = "quarantined:"
"""Begins the ids of messages that wait for an admin; the rest is the id that the message then gets."""
