"""Rules of English about what was decided, what somebody is after, and what they are working on."""

from __future__ import annotations

import re

from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.english.tasks import task
from hybrid_memory.facts.rules.english.values import phrase, whole
from hybrid_memory.facts.rules.english.wording import ADVERB, AM, ENDING, NOT, SELF, rule
from hybrid_memory.facts.rules.rule import When

_OPEN = re.compile(
    r"(?:with (?:you|him|her|them)|not\b.*yet|whether|what|if|how|in |yet|to disagree|for (?:\w+ )?(?:days|weeks))",
    re.IGNORECASE,
)


def _settled(found: re.Match[str]) -> bool:
    """Whether it tells what was decided, and not that something was."""
    return _OPEN.match(found["value"]) is None and "haven't" not in found[0]


def _course(words: str) -> tuple[str, ...]:
    return whole(words.removeprefix("to "))


def _state(words: str) -> tuple[str, ...]:
    return tuple(f"be {value}" for value in whole(words))


DECISIONS = (
    rule("decided", "decision", r"^(?:i've|we've|i have|we have|the team|the family|my (?:wife|husband|partner) and i|"
         r"(?:i|we)(?: just| finally| all| both)?(?= (?:decided|agreed|settled|chose)(?: to)? (?:go with|go for|"
         rf"switch|use|on|adopt|move|buy|sell|quit|hire|apply))) {ADVERB}(?:decided|agreed|settled|opted|chose|chosen|"
         r"resolved)(?: to go with| to go for| to use| on| upon| for| that we(?:'ll| will)| that i(?:'ll| will))? "
         r"(?!it\b|that\b)(?P<value>.+)", _course, "decided", "agreed", "settled", "opted", "chose", "resolved",
         confidence=0.75, guard=_settled),
    rule("going with", "decision", rf"^(?:let's go with|{SELF}(?:'ll| will| are going to|'re going to| have decided to)"
         rf" go (?:with|for)|we're going with|let's use|let's stick with|{SELF}(?:'ll| will) (?:use|stick (?:with|to)))"
         r" (?P<value>.+)", phrase, "go with", "go for", "going with", "let's", "use ", "stick", confidence=0.7),
    rule("decision:", "decision", r"^(?:the |our |my )?(?:final )?decision(?: is|:| was) (?:to )?(?P<value>.+)", phrase,
         "decision", confidence=0.75),
)  # fmt: skip

GOALS = (
    rule("no longer wants to", "goal", rf"^(?:{SELF} (?:no longer|{NOT}(?=.* {ENDING}$)) (?:want|plan|hope|aim|intend) "
         r"to(?= (?:become|learn|run|start|open|write|publish|lose|quit|get|move|buy|travel|study|visit|build|train|"
         rf"retire)\b)|{AM} no longer (?:planning|training|trying|hoping|aiming|saving|going) (?:to|for)|(?:{SELF}|"
         r"i've) (?:gave up|given up|stopped) (?:on )?(?:training for|saving for|trying to|my (?:goal|dream|plan) "
         r"(?:of|to))) (?P<value>.+)", phrase, "longer", "more", "gave up", "given up", "stopped",
         stance=Stance.DROPPED, confidence=0.8),
    rule("reached a goal", "goal", rf"^(?:{SELF}|i've|i have|we've) {ADVERB}(?:achieved|reached|accomplished|met) "
         r"(?:my|our) goal (?:of|to) (?P<value>.+)", phrase, "achieved", "reached", "accomplished", "met ",
         stance=Stance.DONE, confidence=0.85),
    rule("goal is", "goal", r"^(?:(?:one of )?(?:my|our) (?:main |big |biggest |ultimate |long[- ]term |short[- ]term |"
         r"personal |next |new |current |only |real )*(?:goals?|dreams?|dream job|ambitions?|aims?|resolutions?|new "
         r"year'?s resolution|objective|bucket list(?: item)?)(?: (?:for|this) [\w ]{2,20}?)?)(?: is| are|'s|:| has "
         r"always been| was always| would be) (?:always |now |still |currently )*(?:to (?:be able to )?)?(?P<value>.+)",
         phrase, "goal", "dream", "ambition", "aim", "resolution", "objective", "bucket", confidence=0.85,
         when=When.DUE),
    rule("wants to become", "goal", rf"^(?:{SELF} {ADVERB}(?:want|hope|plan|aim|intend|aspire|am hoping|am planning|'d "
         rf"like|would like|would love|wish|am determined)|i'd (?:really )?(?:like|love)|i wanna|{AM} "
         rf"{ADVERB}(?:hoping|planning|aiming|looking|going|trying|determined|working hard|saving|studying|training)) "
         r"(?:to )?(?:one day |eventually |someday |finally )?(?P<value>(?:become|learn(?! more$)|run (?:a|the|my)|"
         r"start (?:a|my|our)|open (?:a|my|our)|write (?:a|my)|publish|lose (?:\d|some|a few|weight|ten|five)|quit "
         r"(?:smoking|drinking|my job)|get (?:better at|a degree|my (?:degree|license|licence|phd|master's|pilot)|in "
         r"shape|into|certified|promoted|fit|healthier)|improve my|master|travel (?:to|around|the|through)|save (?:up|"
         r"enough|for|money)|buy (?:a|my|our) (?:\w+ )?(?:house|home|apartment|flat|car|boat)|build (?:a|my|our)|move "
         r"to|retire|adopt|apply (?:to|for)|complete (?:a|my)|finish my|launch|earn|climb|visit|hike the|teach|study "
         r"(?!for)|specialize|pursue|expand|grow my|compete|qualify|win the|get married)\b.*)", task, "want", "hop",
         "plan", "aim", "intend", "aspir", "like", "love", "wanna", "wish", "looking", "going", "trying", "determined",
         "working", "saving", "studying", "training", confidence=0.7, when=When.DUE),
    rule("wants to be a", "goal", rf"^(?:{SELF} {ADVERB}(?:want|hope|aspire|dream)|{AM} {ADVERB}(?:hoping|training|"
         r"studying|planning)|i've always wanted) (?:to be|of being) (?P<value>an? .+)", _state, "to be", "of being",
         confidence=0.75),
    rule("training for", "goal", rf"^(?:{AM} {ADVERB}|(?:i've|i have|we've) been )(?P<value>(?:training|saving(?: up)?|"
         r"preparing|studying|practi[cs]ing|working) (?:for|towards?) (?!the same)(?:an?|my|the|our) .+)", whole,
         "training", "saving", "preparing", "studying", "practi", "working", confidence=0.8, when=When.DUE),
    rule("dreams of", "goal", rf"^(?:{SELF} {ADVERB}dream of|{AM} {ADVERB}dreaming of|i've always dreamed of|my dream "
         r"of) (?P<value>\w+ing .+)", phrase, "dream", confidence=0.75),
)  # fmt: skip

PROJECTS = (
    rule("works on", "project", rf"^(?:{AM} {ADVERB}|(?:i've|i have|we've|we have) (?:just )?(?:been|started) )"
         r"(?:working on|building|developing|writing|designing|creating|renovating) (?P<value>(?:an?|my|our|some) "
         r"(?!bit\b|lot\b|few\b|weekend\b|holiday\b|schedule\b|list of\b|playlist\b|thing\b|couple\b|reply\b|"
         r"response\b)[\w' -]+.*)", phrase, "working on", "building", "developing", "writing", "designing", "creating",
         "renovating", confidence=0.7),
    rule("my project is", "project", r"^(?:my|our) (?:current |new |latest |main |side |big )*project (?:is|:) "
         r"(?:about |to (?:build |write |make )?|called |building |an? (?:new )?)(?P<value>.+)", phrase, "project",
         confidence=0.7),
    rule("planning a trip", "goal", rf"^{AM} {ADVERB}planning (?P<value>(?:an?|my|our) (?:[\w'-]+ ){{0,4}}?(?:trip|"
         r"vacation|holiday|wedding|move|party|visit|retreat|tour|getaway|honeymoon|renovation|reunion)\b.*)", phrase,
         "planning", confidence=0.7, when=When.DUE),
)  # fmt: skip

RULES = DECISIONS + GOALS + PROJECTS
