"""GateMem: who is shown what, and what stays deleted; no language model, the same result in every run.

    python benchmarks/gatemem --data gatemem/office gatemem/education
    python benchmarks/gatemem --data gatemem/office --episodes 2

README.md says how people, rooms and deletions become spaces, rights and `forget(keep_out=True)`, and why.
"""

import argparse
import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # started by its folder, only that is on the path

from benchmarks.vectors import KeptVectors
from hybrid_memory import HybridMemory, SpaceMemory, open_memory

GUEST = re.compile(r"contractor|delegate|parent|guardian|guest|visitor|vendor|helper|neighbou?r|support|staff$")
"""Relations of people who come to a room from outside."""

ENDS = re.compile(r"\b(?:delet|remov|scrub|purg|forg[eo]t|eras|wip|retir|drop|unavailable|no longer)\w*", re.IGNORECASE)
"""What a request to delete says."""

LEAST = 3
"""Shorter answers, such as "no", are nothing that could be deleted or leak."""

NEAREST, K = 10, 20
"""Turns that are shown by their vectors, and the most that our prompts recall."""


@dataclass(frozen=True)
class Episode:
    """A conversation of many, who belongs where, and what is asked of it.

    Attributes:
        rooms: of each person the rooms that they belong to; guests: those where they are guests.
        public: the rooms that everybody may read.
        deleted: by turn, the words that are to be forgotten then.
    """

    turns: Sequence[Mapping[str, Any]]
    checks: Sequence[Mapping[str, Any]]
    rooms: Mapping[str, set[str]]
    guests: Mapping[str, set[str]]
    public: frozenset[str]
    deleted: Mapping[str, list[str]]


def plain(text: str) -> str:
    """Letters and digits in lower case, single spaces between words."""
    return " ".join(re.findall(r"[^\W_]+", re.sub(r"(?<=\d),(?=\d{3})", "", text.casefold())))


def holds(text: str, words: str) -> bool:
    """Whether the text has these words, whole."""
    return f" {plain(words)} " in f" {plain(text)} "


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON values of a compressed file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def episodes(folder: Path) -> Iterator[Episode]:
    """The episodes of a domain with their questions, each in the order of the turns."""
    checks = defaultdict(list)
    for check in lines(folder / "checkpoints.jsonl.gz"):
        checks[check["episode_id"]].append(check)
    for raw in lines(folder / "episodes.jsonl.gz"):
        turns, asked = raw["turns"], checks[raw["episode_id"]]
        yield Episode(turns, asked, *places(raw["entities"]), deletions(turns, asked))


def places(entities: Mapping[str, Any]) -> tuple[dict[str, set[str]], dict[str, set[str]], frozenset[str]]:
    """The rooms that people belong to, those where they are guests, and the public ones.

    A relation to a project, case and so on is a place in its room; one to a person is a place wherever that person
    belongs. Whoever has a limited scope, or comes from outside by the name of the relation, is a guest.
    """
    rooms, guests = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    public, through = set[str](), list[tuple[str, str, bool]]()
    for relation in entities["relationships"]:
        person, kind = relation["principal_id"], relation["type"]
        guest = "access_scope" in relation or GUEST.search(kind) is not None
        named = [value for key, value in relation.items() if key.endswith("_id") and "principal" not in key]
        for room in named:
            (guests if guest and "public" not in kind else rooms)[person].add(room)
            public |= {room} if "public" in kind else set()
        if not named and "for_principal_id" in relation:
            through.append((person, relation["for_principal_id"], guest))
    for _, other, _ in through:
        rooms[other] = rooms[other] or {other}
    for _ in through:  # whoever stands for somebody who stands for somebody
        for person, other, guest in through:
            (guests if guest else rooms)[person] |= rooms[other]
    return rooms, {person: places - rooms[person] for person, places in guests.items()}, frozenset(public)


def deletions(turns: Sequence[Mapping[str, Any]], checks: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """What the deletion questions name as gone, at the first turn that asks for it.

    A part of a number or token is no request of its own, nor is what a later question needs: that is not gone.
    """
    named: dict[str, str] = {}
    for check in checks:
        if check["query_type"] == "safety":
            for target in check["leak_targets"]:
                named[target] = min(check["as_of_turn_id"], named.get(target, check["as_of_turn_id"]))
    parts = {one for one in named for other in named if plain(one) != plain(other) and plain(one) in plain(other)}
    gone = defaultdict(list)
    for target, last in named.items():
        if len(plain(target)) < LEAST or (target in parts and not target.isalpha()):
            continue
        needed = max((check["as_of_turn_id"] for check in checks if needs(check, target)), default="")
        before = [turn for turn in turns if needed < turn["turn_id"] <= last and ENDS.search(turn["text"])]
        asking = [turn for turn in before if holds(turn["text"], target)] or before
        if asking:
            gone[asking[0]["turn_id"]].append(target)
    return {turn: sorted(words) for turn, words in gone.items()}


def needs(check: Mapping[str, Any], words: str) -> bool:
    """Whether the answer to a question of utility has these words."""
    return check["query_type"] == "utility" and any(holds(one, words) for one in check["judge_spec"]["include"])


class Building:
    """The spaces of an episode: a room for those who belong to it, and in it one for each guest's own words."""

    def __init__(self, memory: HybridMemory, episode: Episode) -> None:
        self._memory, self._episode = memory, episode
        self._spaces: dict[str, SpaceMemory] = {}
        self._gone: list[str] = []

    def place(self, person: str) -> SpaceMemory:
        """Where somebody speaks: in the first room that they belong to; as a guest, in their corner of it."""
        episode = self._episode
        home = sorted(episode.rooms.get(person, ()), key=lambda room: (room in episode.public, room))
        visited = sorted(episode.guests.get(person, ()))
        room = (home or visited or [""])[0]
        name = room if home else f"{room} {person}".strip()
        if name not in self._spaces:
            space = self._spaces[name] = self._memory.scoped(agent="host").space(name).create()
            people = {turn["speaker"]["principal_id"] for turn in episode.turns}
            for one in sorted(people.union(check["asker"]["principal_id"] for check in episode.checks)):
                theirs = episode.rooms.get(one, set())
                heard = room in theirs if room else bool(theirs - episode.public)
                if one == person or name in episode.public or heard:
                    space.grant(user=one, right="write")
            for words in self._gone:
                space.forget(query=words, keep_out=True)
        return self._memory.scoped(user=person).space(name)

    def take(self, turn: Mapping[str, Any]) -> None:
        """Forget what the turn asks to forget, in every room; then write it as its speaker."""
        for words in self._episode.deleted.get(turn["turn_id"], ()):
            self._gone.append(words)
            for space in self._spaces.values():
                space.forget(query=words, keep_out=True)
        at = datetime.fromisoformat(turn["timestamp"]).replace(tzinfo=UTC) if "timestamp" in turn else None
        self.place(turn["speaker"]["principal_id"]).remember(turn["text"], at=at)

    def shown(self, check: Mapping[str, Any]) -> str:
        """What the prompt for this question shows, without the question."""
        asker = self._memory.scoped(user=check["asker"]["principal_id"], session=check["checkpoint_id"])
        return asker.assemble(check["query_text"], spaces="all", k=K).preface

    def may_see(self, person: str, target: str) -> bool:
        """Whether somebody said these words, or belongs where they were said: rights cannot keep them from them."""
        speakers = {turn["speaker"]["principal_id"] for turn in self._episode.turns if holds(turn["text"], target)}
        theirs = set().union(*(self._episode.rooms.get(one, set()) for one in speakers))
        return person in speakers or bool(theirs & (self._episode.rooms.get(person, set()) | self._episode.public))


def played(episode: Episode, embedder: KeptVectors) -> Iterator[tuple[Mapping[str, Any], Building, dict[str, str]]]:
    """Each question with what is shown for it, in each way, after the turns that were said by then."""
    waiting = sorted(episode.checks, key=lambda check: str(check["as_of_turn_id"]))
    with open_memory("memory://", embedder=embedder) as memory:
        building, said = Building(memory, episode), list[str]()
        vectors = embedder.embed_documents([turn["text"] for turn in episode.turns])
        for turn in episode.turns:
            building.take(turn)
            said.append(turn["text"])
            for check in (one for one in waiting if one["as_of_turn_id"] == turn["turn_id"]):
                near = np.argsort(-(vectors[: len(said)] @ embedder.embed_query(check["query_text"])))
                nearest = "\n".join(said[row] for row in near[:NEAREST])
                memory.flush()  # on a busy machine a question would not wait for all vectors
                everything = "\n".join(said)
                yield check, building, {"ours": building.shown(check), "everything": everything, "nearest": nearest}


def answers(text: str, needed: Sequence[str]) -> bool:
    """Whether the text has all of what an answer needs; each is a pattern or plain words."""
    return all(holds(text, one) or re.search(one, text, re.IGNORECASE) for one in needed)


def leaks(text: str, check: Mapping[str, Any], episode: Episode) -> list[str]:
    """What must not be seen and stands in the text; of what was not deleted only what the question does not say."""
    gone = {plain(one) for words in episode.deleted.values() for one in words}
    said = {one for one in check["leak_targets"] if plain(one) not in gone and holds(check["query_text"], one)}
    later = [one for one in episode.checks if one["as_of_turn_id"] >= check["as_of_turn_id"]]
    current = {one for one in check["leak_targets"] if any(needs(each, one) for each in later)}
    targets = set(check["leak_targets"]) - (said | current if check["query_type"] == "safety" else set())
    return [one for one in targets if len(plain(one)) >= LEAST and holds(text, one)]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", type=Path, required=True, help="folders of domains")
    parser.add_argument("--vectors", type=Path, default=Path(gettempdir()) / "gatemem", help="where they are kept")
    parser.add_argument("--episodes", type=int, help="of each domain, the first ones")
    given = parser.parse_args()
    embedder = KeptVectors(given.vectors)
    for folder in given.data:
        counts: dict[tuple[str, str], list[bool]] = defaultdict(list)
        for episode in list(episodes(folder))[: given.episodes]:
            for check, building, shown in played(episode, embedder):
                kind, person = check["query_type"], check["asker"]["principal_id"]
                for way, text in shown.items():
                    leaking = leaks(text, check, episode)
                    if kind == "utility":
                        counts["utility", way].append(answers(text, check["judge_spec"]["include"]))
                    elif kind == "safety":
                        counts["after deletion", way].append(bool(leaking))
                    else:
                        known = {one for one in check["leak_targets"] if building.may_see(person, one)}
                        counts["by rights", way].append(bool(set(leaking) - known))
                        if known:
                            counts["among members", way].append(bool(known.intersection(leaking)))
            embedder.save()
        shares = {f"{what}, {way}": f"{np.mean(row):.2f} of {len(row)}" for (what, way), row in counts.items()}
        print(folder.name, json.dumps(shares, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
