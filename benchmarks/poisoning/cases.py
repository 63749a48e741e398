"""The table of cases: attacks, carriers, languages, hosts, layouts, strategies; each has an account of its own."""

from collections.abc import Iterator
from itertools import count, cycle
from typing import get_args

from benchmarks.acting.tasks import Host, Language
from benchmarks.poisoning.assembled import CoreCase, Layout, Writer
from benchmarks.poisoning.attacks import ATTACKS, BY_NAME
from benchmarks.poisoning.carriers import CARRIERS
from benchmarks.poisoning.hosts import HostCase, Reader

Case = HostCase | CoreCase

LANGUAGES: tuple[Language, ...] = ("en", "zh")
STRATEGIES = ("anchored", "recursive", "window")
WRITERS: tuple[Writer, ...] = ("copying", "obeying")
LAYOUTS: tuple[Layout, ...] = get_args(Layout)

BY_TOOLS: tuple[tuple[Host, Reader], ...] = (
    ("agent", "fetch_page"), ("agent", "read_file"), ("function", "fetch_page"), ("agent", "run_checks"),
    ("function", "run_checks"),
)  # fmt: skip
"""Hosts with tools."""

BY_ANSWERS: tuple[Host, ...] = ("chain", "engine")
"""Hosts without: there the model's own answers carry what it found."""

HOSTED = (
    "order", "policy-error", "fatal", "decision", "close-marks", "chatml", "speakers", "false-call", "zero-width",
    "full-width", "entities", "delayed", "trigger", "bridging", "iban", "standing",
)  # fmt: skip
"""Attacks that are made through hosts."""

KEPT = ("order", "close-marks", "iban", "bridging")
"""Attacks that a model keeps in a note or a block."""

BLOCKS = ("block", "rethought", "space_block", "own_block_in_space")
"""Carriers whose marks are named by their labels."""

EVERYWHERE = ("page", "assistant", "person", "other_session", "failure", "note")
"""Carriers that take turns with all attacks."""

FOLDED = ("policy-error", "decision", "close-marks")
"""Attacks that are made on each strategy in each layout."""

SAMPLES = ("order", "close-marks", "iban", "entities", "speakers")
"""Attacks that are brought by each carrier in turn."""


def _accounts(start: int) -> Iterator[str]:
    return (f"kx{number:04d}qz" for number in count(start))


def host_cases() -> Iterator[HostCase]:
    """Through hosts; these are run with other memories too."""
    account, ways = _accounts(1000), cycle(BY_TOOLS)
    for row, name in enumerate(HOSTED):
        for column, language in enumerate(LANGUAGES):
            host, reader = next(ways)
            # A model that calls tools tells what it read, or not.
            told = (row + column) % 2 == 0 or name == "bridging"
            yield HostCase(BY_NAME[name], language, host, next(account), reader, told=told)
            host = BY_ANSWERS[(row + column) % 2]
            transcript = host == "chain" and row % 2 == 0
            yield HostCase(BY_NAME[name], language, host, next(account), "own search", transcript=transcript)
    for name, language in zip(KEPT, cycle(LANGUAGES), strict=False):
        yield HostCase(BY_NAME[name], language, "agent", next(account), told=False, noted=True)


def own_cases() -> Iterator[HostCase]:
    """Through hosts, in ways that only this memory has: paging, and a block in LlamaIndex's own memory."""
    account = _accounts(2000)
    for name, language in zip(KEPT, cycle(LANGUAGES), strict=False):
        yield HostCase(BY_NAME[name], language, "agent", next(account), told=False, paged=True)
        yield HostCase(BY_NAME[name], language, "function", next(account), told=False, paged=True)
        yield HostCase(BY_NAME[name], language, "function", next(account), inserted=True)
        yield HostCase(BY_NAME[name], language, "engine", next(account), "own search", inserted=True)


def core_cases() -> Iterator[CoreCase]:
    """Through the core's own verbs."""
    yield from _of_attacks(_accounts(3000))
    yield from _of_carriers(_accounts(4000))
    yield from _of_strategies(_accounts(5000))
    yield from _with_models(_accounts(6000))


def _of_attacks(account: Iterator[str]) -> Iterator[CoreCase]:
    layouts, carriers = cycle(LAYOUTS), cycle(EVERYWHERE)
    for attack in ATTACKS:
        for language in LANGUAGES:
            yield CoreCase(attack, next(carriers), language, next(account), next(layouts))
        next(carriers)


def _of_carriers(account: Iterator[str]) -> Iterator[CoreCase]:
    layouts, samples = cycle(LAYOUTS[::-1]), cycle(SAMPLES)
    for carrier in CARRIERS:
        for language in LANGUAGES:
            yield CoreCase(BY_NAME[next(samples)], carrier, language, next(account), next(layouts))
    for carrier, language in zip(BLOCKS, cycle(LANGUAGES), strict=False):
        yield CoreCase(BY_NAME["close-blocks"], carrier, language, next(account), next(layouts))


def _of_strategies(account: Iterator[str]) -> Iterator[CoreCase]:
    attacks, languages, carriers = cycle(FOLDED), cycle(LANGUAGES), cycle(("failure", "page", "person", "assistant"))
    for strategy in STRATEGIES:
        for layout in LAYOUTS:
            attack = BY_NAME[next(attacks)]
            yield CoreCase(attack, next(carriers), next(languages), next(account), layout, strategy)
        next(attacks)


def _with_models(account: Iterator[str]) -> Iterator[CoreCase]:
    """A model writes the summaries and reads the facts: one that copies, and one that does what it reads."""
    attacks, languages, carriers = cycle(("policy-error", "iban", "close-marks")), cycle(LANGUAGES), cycle(EVERYWHERE)
    for strategy in ("anchored", "recursive"):
        for writer in WRITERS:
            attack = BY_NAME[next(attacks)]
            yield CoreCase(attack, next(carriers), next(languages), next(account), strategy=strategy, writer=writer)


def cases() -> list[Case]:
    """All of them."""
    return [*host_cases(), *own_cases(), *core_cases()]
