"""Records as the server stores them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_memory.engines.instants import from_micros, instant_or_none, micros_or_none, to_micros
from hybrid_memory.engines.redis.events import to_json
from hybrid_memory.engines.redis.index_scripts import PLACE_STEP
from hybrid_memory.engines.redis.keys import NONE, digest, digest_or_none
from hybrid_memory.index.port import Entry
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.scope import Scope

FIELDS = ("data", "uses", "last")
"""What `to_record` reads."""


def to_entry(owner: str, entry: Entry) -> str:
    """The record as the scripts take it, with the fields of its hash; the owner as its tag."""
    record = entry.record
    at = to_micros(record.at)
    words = " ".join(map(encode, entry.terms.split()))
    session = digest_or_none(record.scope.session)
    fields = {
        "owner": owner,
        "session": session,
        "kind": record.kind.value,
        "category": digest_or_none(record.category),
        "at": at,
        "turn": record.turn,
        "said": f"{at + 10**18:019d}{record.id:019d}",
        "words": words,
        "meta": ",".join(pairs(record.metadata)) or NONE,
        "row": f"{record.segment} {record.ordinal} {len(record.text)} {record.importance!r}",
        "uses": record.uses,
        "data": to_json(_data(record)),
    }
    if record.last_used is not None:
        fields["last"] = to_micros(record.last_used)
    return to_json(
        {
            "id": str(record.id),
            "place": str(record.segment * PLACE_STEP + record.ordinal),
            "at": str(at),
            "session": session,
            "turn": record.kind is RecordKind.TURN,
            "words": words,
            "fields": [str(part) for field in fields.items() for part in field],
        }
    )


def to_record(fields: Sequence[bytes | None]) -> Record:
    """The record of `FIELDS`."""
    data, uses, last = fields
    number, owner, session, text, at, sources, segment, ordinal, kind, speaker, category, importance, *rest = (
        json.loads(data or b"")
    )
    tenant, user, agent, space = owner
    valid_from, valid_to, metadata, turn, author = rest
    return Record(
        id=number,
        scope=Scope(tenant, user, agent, session, space),
        text=text,
        at=from_micros(at),
        sources=tuple(sources),
        segment=segment,
        ordinal=ordinal,
        kind=RecordKind(kind),
        speaker=speaker,
        category=category,
        importance=importance,
        uses=int(uses or 0),
        last_used=None if last is None else from_micros(int(last)),
        valid_from=instant_or_none(valid_from),
        valid_to=instant_or_none(valid_to),
        metadata=metadata,
        turn=turn,
        author=author,
    )


def _data(record: Record) -> list[Any]:
    scope = record.scope
    return [
        record.id,
        [scope.tenant, scope.user, scope.agent, scope.space],
        scope.session,
        record.text,
        to_micros(record.at),
        record.sources,
        record.segment,
        record.ordinal,
        record.kind.value,
        record.speaker,
        record.category,
        record.importance,
        micros_or_none(record.valid_from),
        micros_or_none(record.valid_to),
        record.metadata,
        record.turn,
        record.author,
    ]


def pairs(metadata: Mapping[str, Any]) -> list[str]:
    """A digest of each key with its value, types kept apart; without values that have parts."""
    return [
        digest(f"{key}\n{json.dumps(value)}") for key, value in metadata.items() if not isinstance(value, (dict, list))
    ]


def encode(term: str) -> str:
    """A word that the text index takes whole: it would cut others at marks, and does not know every alphabet."""
    return f"t{term}" if term.isascii() and term.isalnum() else f"x{term.encode().hex()}"


def decode(word: str) -> str:
    """The term of a word."""
    return word[1:] if word[0] == "t" else bytes.fromhex(word[1:]).decode()


def listed(ids: Sequence[int]) -> str:
    """Ids in one text."""
    return " ".join(map(str, ids))
