"""Rules of English about what is to be done, and when, and what became of it."""

from __future__ import annotations

import re

from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.english.values import phrase, tidy, whole
from hybrid_memory.facts.rules.english.wording import ADVERB, AM, ENDING, HAVE, NOT, SELF, TIME, rule
from hybrid_memory.facts.rules.rule import When

_DONE_FORMS = {
    "booked": "book", "bought": "buy", "called": "call", "emailed": "email", "sent": "send", "submitted": "submit",
    "finished": "", "completed": "", "finalized": "finalize", "paid": "pay", "renewed": "renew",
    "scheduled": "schedule",
    "dropped off": "drop off", "returned": "return", "fixed": "fix", "repaired": "repair",
    "cleaned": "clean", "filed": "file", "prepared": "prepare", "wrote": "write", "written": "write",
    "ordered": "order",
    "registered": "register", "signed up": "sign up", "signed": "sign", "printed": "print", "delivered": "deliver",
    "deployed": "deploy", "merged": "merge", "replaced": "replace", "packed": "pack", "washed": "wash",
    "updated": "update", "uploaded": "upload", "backed up": "back up", "installed": "install", "set up": "set up",
    "refactored": "refactor", "released": "release", "shipped": "ship", "applied": "apply", "reserved": "reserve",
    "arranged": "arrange", "organized": "organize", "reviewed": "review", "watered": "water",
    "taken care of": "", "sorted out": "sort out", "handed in": "hand in", "turned in": "turn in",
    "mailed": "mail", "posted": "post", "published": "publish",
}  # fmt: skip
_ACT = (
    r"(?:book|buy|call|phone|ring|text|email|e-mail|send|submit|finish|complete|finali[sz]e|pay|renew|schedule|"
    r"reschedule|pick up|drop off|return|fix|repair|clean|file|prepare|write|review|order|register|sign up|sign|apply|"
    r"get (?:a|an|the|my|some|more|gas|groceries)|take (?:my|the|our|out)|bring|print|wash|water|pack|study for|"
    r"practi[cs]e|deliver|check (?:the|my|on)|contact|reply to|reply|replace|refill|back up|deploy|merge|release|ship|"
    r"test|refactor|update|upgrade|upload|download|install|set up|cancel|make (?:an? |the )?(?:appointment|reservation|"
    r"call|list|cake|dinner|copy|backup|payment)|do (?:the|my) (?:laundry|dishes|taxes|shopping|homework|groceries|"
    r"ironing)|mow|paint|move the|organi[sz]e|plan|feed|walk the|vacuum|iron|hand in|turn in|mail|post|publish|present|"
    r"rehearse|proofread|transfer|deposit|withdraw|claim|collect|arrange|visit (?:the|my)|go to the (?:bank|dentist|"
    r"doctor|store|post office|pharmacy|supermarket|gym|vet)|talk to my (?:boss|manager|landlord|doctor|lawyer)|meet "
    r"(?:with )?(?:my|the)|find (?:a|an|my)|look for (?:a|an)|remember to|sort out|change the|learn (?:for|the)|"
    r"document|migrate)"
)
_EVENT = (
    r"(?:appointment|meeting|interview|exam|test|call|flight|reservation|class|lesson|check-?up|session|date|"
    r"presentation|surgery|operation|conference|workshop|webinar|wedding|party|concert|dinner|lunch|breakfast|brunch|"
    r"game|match|race|marathon|rehearsal|audition|shift|trip|visit|viewing|haircut|stand-?up|demo|review|training|"
    r"seminar|lecture|hearing|recital|ceremony|graduation|show|gig|tournament|train|booking|consultation|scan|x-ray|"
    r"vaccination|delivery|reunion|barbecue|bbq|gala|festival)"
)
_PERSON = r"(?:he|she|it|they|you)"
_BY = re.compile(r"\b(?:by|on|before|at|tomorrow|tonight|next|this|today|in)\b")
_STILL = re.compile(r" (?:needs?|has|have|must) |\bdue\b")
_VAGUE = re.compile(
    r"(?:it|that|this|them|him|her|you|(?:\w+ (?:last |next |first )?)?ones?|some|up|out|back|off|over|there|here)\.?$",
    re.IGNORECASE,
)


def task(words: str) -> tuple[str, ...]:
    """What is to be done: a verb with its object."""
    value = tidy(re.sub(r"^(?:(?:to|remember to|also|still|really|just)\s+)+", "", words.strip(), flags=re.IGNORECASE))
    return (value,) if " " in value and not _VAGUE.fullmatch(value.partition(" ")[2]) else ()


def _done(words: str) -> tuple[str, ...]:
    """What was done, as it was to be done: "booked the dentist" is "book the dentist"."""
    for form, verb in _DONE_FORMS.items():
        if words.lower().startswith(f"{form} "):
            what = tidy(words[len(form) + 1 :])
            return (f"{verb} {what}".strip(),) if len(what) > 1 and not _VAGUE.fullmatch(what) else ()
    return ()


def _event(words: str) -> tuple[str, ...]:
    """An event without the words around it."""
    return phrase(re.sub(r"^(?:(?:an?|the|my|our|this|another|upcoming|big|next) )+", "", words, flags=re.IGNORECASE))


def _about(words: str) -> tuple[str, ...]:
    """What a reminder or a task is about."""
    return phrase(re.sub(r"^\w+(?:-\w+)? (?:to|about|for|on) ", "", words))


def _falls_due(found: re.Match[str]) -> bool:
    """Whether a time follows, and something is still to be done."""
    return _BY.search(found["time"]) is not None and _STILL.search(found[0]) is not None


_FORMS = "|".join(sorted(_DONE_FORMS, key=len, reverse=True))

_TODO = (
    rule("no longer needs to", "todo", rf"^{SELF} (?:no longer (?:need|have) to|{NOT} (?:need|have) to(?=.* {ENDING}$)|"
         rf"(?:'m|am) not going to(?=.* after all)|decided not to|have decided not to) (?P<value>{_ACT}.*)", task,
         "longer", "more", "after all", "not to", stance=Stance.DROPPED, confidence=0.8),
    rule("forget about", "todo", r"^(?:forget (?:about )?|never ?mind (?:about )?|scratch |scrap |drop )(?:the "
         r")?(?P<value>(?:reminder|task|todo|to-do|plan)s? (?:to|about|for|on) .+)", _about, "forget", "mind",
         "scratch", "scrap", "drop", stance=Stance.DROPPED, confidence=0.75),
    rule("remind me to", "todo", r"^(?:(?:can you|could you|please|pls) )*(?:remind me|don't let me forget|help me "
         r"remember|make sure i remember|make sure i don't forget)(?: again)?(?P<lead> (?:on|at|in|by|tomorrow|next|"
         r"tonight|this)\b[^,]{0,30}?)? to (?P<value>.+)", task, "remind", "forget", "remember", when=When.DUE,
         confidence=0.9),
    rule("add to the list", "todo", r"^(?:please )?(?:add|put) (?P<value>.+?) (?:to|on) (?:my|the|our) (?:to-?do|todo|"
         r"to do|task|shopping|grocery|reading)? ?list\b", phrase, " list", when=When.DUE, confidence=0.85),
    rule("todo:", "todo", r"^(?:note to self|to-?do|my to-?do)(?: is|:|,)? (?:to )?(?P<value>.+)", task, "todo",
         "to-do", "note to self", when=When.DUE, confidence=0.8),
    rule("needs to", "todo", rf"^{TIME}(?:{SELF} {ADVERB}(?:need to|have to|must|gotta|got to|ought to|should probably|"
         r"had better|can't forget to|mustn't forget to|shouldn't forget to)|(?:i've|we've) (?:still )?got to|i'd "
         r"better|(?:my|our) (?:next|first) (?:task|step|to-?do) is to|i'm supposed to|i am supposed to|don't forget "
         rf"i have to) (?:still |also |really |remember to )*(?P<value>{_ACT}\b.*)", task, "need", "have to", "must",
         "got", "ought", "should", "better", "forget", "task", "step", "to-do", "supposed", when=When.DUE,
         confidence=0.75),
    rule("has to be done by", "todo", r"^(?P<value>(?:the|my|our) [\w' -]{2,50}?) (?:needs? to be|has to be|have to be|"
         r"must be|is|are) (?:due|done|finished|submitted|paid|handed in|returned|ready|completed|renewed|sent)"
         r"\b(?P<time>.*)", phrase, "due", "done", "finished", "submitted", "paid", "handed in", "returned", "ready",
         "completed", "renewed", "sent", when=When.DUE, confidence=0.65, guard=_falls_due),
)  # fmt: skip

_STATE = (
    rule("cancelled an event", "appointment", rf"^(?:(?:{SELF}|i've|i have|we've|we had to|i had to|{_PERSON}) "
         rf"{ADVERB}(?:had to )?(?:cancel(?:l?ed)?|called off|call off) (?P<value>(?:the|my|our|an?) [\w' "
         rf"-]*?\b{_EVENT}\b.*))", _event, "cancel", "call", stance=Stance.DROPPED, confidence=0.85),
    rule("event is cancelled", "appointment", rf"^(?P<value>(?:the|my|our) [\w' -]*?\b{_EVENT}(?: with [\w' -]+?)?(?: "
         r"on \w+)?)(?: is| was| got| has been| is being|'s been|'s) (?:cancel(?:l?ed)|called off|off(?= now$|$))",
         _event, "cancel", "off", stance=Stance.DROPPED, confidence=0.85),
    rule("cancelled", "todo", rf"^(?:{SELF}|i've|i have|we've|we have) {ADVERB}(?:cancel(?:l?ed)|called off|dropped|"
         r"abandoned|scrapped|given up on|gave up on) (?P<value>(?:the|my|our) .+)", phrase, "cancel", "called off",
         "dropped", "abandoned", "scrapped", "given up on", "gave up on", stance=Stance.DROPPED, confidence=0.75),
    rule("has done", "todo", rf"^(?:(?:{HAVE}|i just|i finally|i already|we just|we finally|we already) {ADVERB}|"
         rf"(?:just|finally|already) )(?P<value>(?:{_FORMS}) (?!an?\b|this\b|that\b|one\b|some\b|up\b|\w+ing\b).+)",
         _done, "have", "'ve", "just", "finally", "already", stance=Stance.DONE, confidence=0.8),
    rule("did", "todo", rf"^{SELF} {ADVERB}(?P<value>(?:booked|submitted|finished|completed|paid|renewed|scheduled|"
         r"handed in|turned in|sent off|sent|filed|dropped off|returned|ordered|registered for|deployed|merged) (?:the|"
         r"my|our|all) .+)", _done, "ed ", "paid", "sent", "handed in", stance=Stance.DONE, confidence=0.75),
    rule("is done", "todo", r"^(?P<value>(?:the|my|our) [\w' -]{2,50}?)(?: is|'s| are| has been| have been) (?:all |"
         r"now |finally |already )*(?:done|finished|completed?|sorted|submitted|paid|booked|taken care of|sorted out|"
         r"shipped|delivered|ordered|sent)(?=$|[,.]| now| today)", phrase, "done", "finished", "complete", "sorted",
         "submitted", "paid", "booked", "care of", "shipped", "delivered", "ordered", "sent", stance=Stance.DONE,
         confidence=0.75),
    rule("done with", "todo",
         rf"^(?:(?:{AM} )?{ADVERB}(?:done|finished) with|{AM} (?:all )?done) (?P<value>(?:the|my|our) .+)", phrase,
         "done", "finished", stance=Stance.DONE, confidence=0.75),
)  # fmt: skip

_DATES = (
    rule("event moved", "appointment", rf"^(?P<value>(?:the|my|our) [\w' -]*?\b{_EVENT}(?: with [\w' -]+?)?)(?: is| "
         r"was| got| has been|'s been|'s) (?:now |just )*(?:moved|rescheduled|postponed|pushed(?: back)?|changed|"
         r"shifted|brought forward)\b(?P<time>.+)", _event, "moved", "rescheduled", "postponed", "pushed", "changed",
         "shifted", "brought forward", when=When.APPOINTED, confidence=0.85),
    rule("moved an event", "appointment", rf"^(?:{SELF}|i've|i have|we've|we have|{_PERSON}) {ADVERB}(?:moved|"
         rf"rescheduled|postponed|pushed(?: back)?|changed|shifted) (?P<value>(?:the|my|our) [\w' -]*?\b{_EVENT}(?: "
         r"with [\w' -]+?)?)(?: from .+?)? to (?P<time>.+)", _event, "moved", "rescheduled", "postponed", "pushed",
         "changed", "shifted", when=When.APPOINTED, confidence=0.85),
    rule("has an event", "appointment", rf"^{TIME}(?:{HAVE}|{SELF} (?:booked|scheduled|made|set up|arranged)|there's|"
         rf"there is|{SELF} have got) {ADVERB}(?:booked |scheduled )?(?P<value>(?:an?|my|our|the|another) (?:[\w'-]+ "
         rf"){{0,4}}?{_EVENT}\b.*)", _event, "have", "'ve", "got", "booked", "scheduled", "made", "set up", "arranged",
         "there", when=When.APPOINTED, confidence=0.85),
    rule("event is on", "appointment", rf"^(?P<value>(?:the|my|our) (?:[\w'-]+ ){{0,4}}?{_EVENT}(?: with [\w' .-]+?)?)"
         r"(?: is|'s| starts| begins| leaves| departs| takes place| will be| got scheduled| is scheduled| is set)(?: "
         r"now)? (?:on|at|for|in|next|this|tomorrow|tonight|today)\b(?P<time>.*)", _event, " is ", "'s ", "start",
         "begin", "leave", "depart", "takes place", "will be", "scheduled", when=When.APPOINTED, confidence=0.8),
    rule("meets somebody", "appointment", rf"^{TIME}(?:{AM} {ADVERB}(?P<value>(?:meeting|seeing|visiting|having "
         r"(?:lunch|dinner|coffee|drinks) with) (?!you\b|someone\b|a lot\b|some\b).+))", whole, "meeting", "seeing",
         "visiting", "having", when=When.APPOINTED, confidence=0.7),
)  # fmt: skip

RULES = _STATE + _TODO + _DATES
