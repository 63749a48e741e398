"""Rules of English about what is to be done, when, what was decided, and what somebody is after."""

from __future__ import annotations

import re

from hybrid_memory.learning.rules.english.values import phrase, tidy, whole
from hybrid_memory.learning.rules.english.wording import ADVERB, AM, ENDING, HAVE, SELF, rule
from hybrid_memory.learning.rules.rule import When
from hybrid_memory.types import Stance

_DONE_FORMS = {
    "booked": "book", "bought": "buy", "called": "call", "emailed": "email", "sent": "send", "submitted": "submit",
    "finished": "", "completed": "", "finalized": "finalize", "paid": "pay", "renewed": "renew", "scheduled": "schedule",
    "picked up": "pick up", "dropped off": "drop off", "returned": "return", "fixed": "fix", "repaired": "repair",
    "cleaned": "clean", "filed": "file", "prepared": "prepare", "wrote": "write", "written": "write", "ordered": "order",
    "registered": "register", "signed up": "sign up", "signed": "sign", "printed": "print", "delivered": "deliver",
    "deployed": "deploy", "merged": "merge", "replaced": "replace", "packed": "pack", "washed": "wash",
    "updated": "update", "uploaded": "upload", "backed up": "back up", "installed": "install", "set up": "set up",
    "refactored": "refactor", "released": "release", "shipped": "ship", "applied": "apply", "reserved": "reserve",
    "arranged": "arrange", "organized": "organize", "reviewed": "review", "watered": "water",
    "taken care of": "", "sorted out": "sort out", "handed in": "hand in", "turned in": "turn in",
    "mailed": "mail", "posted": "post", "published": "publish", "cancelled": "cancel", "canceled": "cancel",
}  # fmt: skip
_ACT = (
    r"(?:book|buy|call|phone|ring|text|email|e-mail|send|submit|finish|complete|finali[sz]e|pay|renew|schedule|reschedule|pick up|drop off|"
    r"return|fix|repair|clean|file|prepare|write|review|order|register|sign up|sign|apply|get (?:a|an|the|my|some|more|gas|groceries)|"
    r"take (?:my|the|our|out)|bring|print|wash|water|pack|study for|practi[cs]e|deliver|check (?:the|my|on)|contact|reply to|reply|replace|refill|back up|"
    r"deploy|merge|release|ship|test|refactor|update|upgrade|upload|download|install|set up|cancel|make (?:an? |the )?(?:appointment|reservation|call|list|cake|"
    r"dinner|copy|backup|payment)|do (?:the|my) (?:laundry|dishes|taxes|shopping|homework|groceries|ironing)|mow|paint|move the|organi[sz]e|plan|feed|walk the|"
    r"vacuum|iron|hand in|turn in|mail|post|publish|present|rehearse|proofread|transfer|deposit|withdraw|claim|collect|arrange|visit (?:the|my)|"
    r"go to the (?:bank|dentist|doctor|store|post office|pharmacy|supermarket|gym|vet)|talk to my (?:boss|manager|landlord|doctor|lawyer)|"
    r"meet (?:with )?(?:my|the)|find (?:a|an|my)|look for (?:a|an)|remember to|sort out|change the|learn (?:for|the)|document|migrate)"
)
_EVENT = (
    r"(?:appointment|meeting|interview|exam|test|call|flight|reservation|class|lesson|check-?up|session|date|presentation|"
    r"surgery|operation|conference|workshop|webinar|wedding|party|concert|dinner|lunch|breakfast|brunch|game|match|race|marathon|"
    r"rehearsal|audition|shift|trip|visit|viewing|haircut|stand-?up|demo|review|training|seminar|lecture|hearing|recital|ceremony|"
    r"graduation|show|gig|tournament|train|booking|consultation|scan|x-ray|vaccination|delivery|reunion|barbecue|bbq|gala|festival)"
)
_PERSON = r"(?:he|she|it|they|you)"
_VAGUE = re.compile(r"(?:it|that|this|them|him|her|you|(?:\w+ (?:last |next |first )?)?ones?|some|up|out|back|off|over|there|here)\.?$", re.IGNORECASE)


def _task(words: str) -> tuple[str, ...]:
    """What is to be done: a verb with its object."""
    words = re.sub(r"^(?:to|remember to|also|still|really|just)\s+", "", words.strip(), flags=re.IGNORECASE)
    words = re.sub(r"^(?:remember to)\s+", "", words)
    value = tidy(words)
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
    return phrase(re.sub(r"^(?:an? |the |my |our |this |another |upcoming |big |next )+", "", words, flags=re.IGNORECASE))


_FORMS = "|".join(sorted(_DONE_FORMS, key=len, reverse=True))

_TODO = (
    rule("no longer needs to", "todo", rf"^{SELF} (?:no longer (?:need|have) to|{'(?:do not|don.t)'} (?:need|have) to(?=.* {ENDING}$)|"
         rf"(?:'m|am) not going to(?=.* after all)|decided not to|have decided not to) (?P<value>{_ACT}.*)", _task, "longer", "more", "after all", "not to",
         stance=Stance.DROPPED, confidence=0.8),
    rule("forget about", "todo", rf"^(?:forget (?:about )?|never ?mind (?:about )?|scratch |scrap |drop )(?:the )?(?P<value>(?:reminder|task|todo|to-do|plan)s? (?:to|about|for|on) .+)",
         lambda words: phrase(re.sub(r"^\w+(?:-\w+)? (?:to|about|for|on) ", "", words)), "forget", "mind", "scratch", "scrap", "drop", stance=Stance.DROPPED, confidence=0.75),
    rule("remind me to", "todo", r"^(?:(?:can you|could you|please|pls) )*(?:remind me|don't let me forget|help me remember|make sure i remember|make sure i don't forget)"
         r"(?: again)?(?P<lead> (?:on|at|in|by|tomorrow|next|tonight|this)\b[^,]{0,30}?)? to (?P<value>.+)", _task, "remind", "forget", "remember", when=When.DUE, confidence=0.9),
    rule("add to the list", "todo", r"^(?:please )?(?:add|put) (?P<value>.+?) (?:to|on) (?:my|the|our) (?:to-?do|todo|to do|task|shopping|grocery|reading)? ?list\b", phrase,
         " list", when=When.DUE, confidence=0.85),
    rule("todo:", "todo", r"^(?:note to self|to-?do|my to-?do)(?: is|:|,)? (?:to )?(?P<value>.+)", _task, "todo", "to-do", "note to self", when=When.DUE, confidence=0.8),
    rule("needs to", "todo", rf"^(?:{SELF} {ADVERB}(?:need to|have to|must|gotta|got to|ought to|should probably|had better|can't forget to|mustn't forget to|shouldn't forget to)|"
         rf"(?:i've|we've) (?:still )?got to|i'd better|(?:my|our) (?:next|first) (?:task|step|to-?do) is to|i'm supposed to|i am supposed to|don't forget i have to) (?:still |also |really |remember to )*(?P<value>{_ACT}\b.*)",
         _task, "need", "have to", "must", "got", "ought", "should", "better", "forget", "task", "step", "to-do", "supposed", when=When.DUE, confidence=0.75),
    rule("has to be done by", "todo", rf"^(?P<value>(?:the|my|our) [\w' -]{{2,50}}?) (?:needs? to be|has to be|have to be|must be|is|are) (?:due|done|finished|submitted|paid|handed in|returned|ready|completed|renewed|sent)\b(?P<time>.*)",
         phrase, "due", "done", "finished", "submitted", "paid", "handed in", "returned", "ready", "completed", "renewed", "sent", when=When.DUE, confidence=0.65,
         guard=lambda found: re.match(r".*\b(?:by|on|before|at|tomorrow|tonight|next|this|today|in)\b", found["time"]) is not None and
         re.search(r" (?:needs?|has|have|must) |\bdue\b", found[0]) is not None),
)  # fmt: skip

_STATE = (
    rule("cancelled an event", "appointment", rf"^(?:(?:{SELF}|i've|i have|we've|we had to|i had to|{_PERSON}) {ADVERB}(?:had to )?(?:cancel(?:l?ed)?|called off|call off) (?P<value>(?:the|my|our|an?) [\w' -]*?\b{_EVENT}\b.*))", _event,
         "cancel", "call", stance=Stance.DROPPED, confidence=0.85),
    rule("event is cancelled", "appointment", rf"^(?P<value>(?:the|my|our) [\w' -]*?\b{_EVENT}(?: with [\w' -]+?)?(?: on \w+)?)(?: is| was| got| has been| is being|'s been|'s) (?:cancel(?:l?ed)|called off|off(?= now$|$))", _event,
         "cancel", "off", stance=Stance.DROPPED, confidence=0.85),
    rule("cancelled", "todo", rf"^(?:{SELF}|i've|i have|we've|we have) {ADVERB}(?:cancel(?:l?ed)|called off|dropped|abandoned|scrapped|given up on|gave up on) (?P<value>(?:the|my|our) .+)", phrase,
         "cancel", "called off", "dropped", "abandoned", "scrapped", "given up on", "gave up on", stance=Stance.DROPPED, confidence=0.75),
    rule("has done", "todo", rf"^(?:(?:{HAVE}|i just|i finally|i already|we just|we finally|we already) {ADVERB}|(?:just|finally|already) )(?P<value>(?:{_FORMS}) (?!an?\b|this\b|that\b|one\b|some\b|up\b|\w+ing\b).+)", _done, "have", "'ve", "just", "finally", "already",
         stance=Stance.DONE, confidence=0.8),
    rule("did", "todo", rf"^{SELF} {ADVERB}(?P<value>(?:booked|submitted|finished|completed|paid|renewed|scheduled|handed in|turned in|sent off|sent|filed|picked up|dropped off|returned|ordered|registered for|deployed|merged) (?:the|my|our|all) .+)", _done,
         "ed ", "paid", "sent", "handed in", "picked up", stance=Stance.DONE, confidence=0.75),
    rule("is done", "todo", r"^(?P<value>(?:the|my|our) [\w' -]{2,50}?)(?: is|'s| are| has been| have been) (?:all |now |finally |already )*(?:done|finished|completed?|sorted|submitted|paid|booked|taken care of|sorted out|shipped|delivered|ordered|sent)(?=$|[,.]| now| today)",
         phrase, "done", "finished", "complete", "sorted", "submitted", "paid", "booked", "care of", "shipped", "delivered", "ordered", "sent", stance=Stance.DONE, confidence=0.75),
    rule("done with", "todo", rf"^(?:(?:{AM} )?{ADVERB}(?:done|finished) with|(?:i'm|i am) (?:all )?done) (?P<value>(?:the|my|our) .+)", phrase, "done", "finished", stance=Stance.DONE, confidence=0.75),
)  # fmt: skip

_DATES = (
    rule("event moved", "appointment", rf"^(?P<value>(?:the|my|our) [\w' -]*?\b{_EVENT}(?: with [\w' -]+?)?)(?: is| was| got| has been|'s been|'s) (?:now |just )*(?:moved|rescheduled|postponed|pushed(?: back)?|changed|shifted|brought forward)\b(?P<time>.+)", _event,
         "moved", "rescheduled", "postponed", "pushed", "changed", "shifted", "brought forward", when=When.APPOINTED, confidence=0.85),
    rule("moved an event", "appointment", rf"^(?:{SELF}|i've|i have|we've|we have|{_PERSON}) {ADVERB}(?:moved|rescheduled|postponed|pushed(?: back)?|changed|shifted) (?P<value>(?:the|my|our) [\w' -]*?\b{_EVENT}(?: with [\w' -]+?)?)(?: from .+?)? to (?P<time>.+)", _event,
         "moved", "rescheduled", "postponed", "pushed", "changed", "shifted", when=When.APPOINTED, confidence=0.85),
    rule("has an event", "appointment", rf"^(?:{HAVE}|{SELF} (?:booked|scheduled|made|set up|arranged)|there's|there is|{SELF} have got) {ADVERB}(?:booked |scheduled )?(?P<value>(?:an?|my|our|the|another) (?:[\w'-]+ ){{0,4}}?{_EVENT}\b.*)", _event,
         "have", "'ve", "got", "booked", "scheduled", "made", "set up", "arranged", "there", when=When.APPOINTED, confidence=0.85),
    rule("event is on", "appointment", rf"^(?P<value>(?:the|my|our) (?:[\w'-]+ ){{0,4}}?{_EVENT}(?: with [\w' .-]+?)?)(?: is|'s| starts| begins| leaves| departs| takes place| will be| got scheduled| is scheduled| is set)(?: now)? (?:on|at|for|in|next|this|tomorrow|tonight|today)\b(?P<time>.*)", _event,
         " is ", "'s ", "start", "begin", "leave", "depart", "takes place", "will be", "scheduled", when=When.APPOINTED, confidence=0.8),
    rule("meets somebody", "appointment", rf"^(?:{AM} {ADVERB}(?P<value>(?:meeting|seeing|visiting|having (?:lunch|dinner|coffee|drinks) with) (?!you\b|someone\b|a lot\b|some\b).+))", whole, "meeting", "seeing", "visiting", "having",
         when=When.APPOINTED, confidence=0.7),
)  # fmt: skip

_DECISIONS = (
    rule("decided", "decision", rf"^(?:i've|we've|i have|we have|the team|the family|my (?:wife|husband|partner) and i|(?:i|we) (?:just |finally |all |both )?(?=(?:decided|agreed|settled|chose)(?: to)? (?:go with|go for|switch|use|on|adopt|move|buy|sell|quit|hire|apply))) {ADVERB}(?:decided|agreed|settled|opted|chose|chosen|resolved)(?: to go with| to go for| to use| on| upon| for| that we(?:'ll| will)| that i(?:'ll| will))? (?!it\b|that\b)"
         r"(?P<value>.+)", lambda words: whole(re.sub(r"^to ", "", words)), "decided", "agreed", "settled", "opted", "chose", "resolved", confidence=0.75,
         guard=lambda found: re.match(r"(?:with (?:you|him|her|them)|not\b.*yet|whether|what|if|how|in |yet|to disagree|for (?:\w+ )?(?:days|weeks))", found["value"], re.IGNORECASE) is None and "haven't" not in found[0]),
    rule("going with", "decision", rf"^(?:let's go with|{SELF}(?:'ll| will| are going to|'re going to| have decided to) go (?:with|for)|we're going with|let's use|let's stick with|{SELF}(?:'ll| will) (?:use|stick (?:with|to))) (?P<value>.+)", phrase, "go with", "go for",
         "going with", "let's", "use ", "stick", confidence=0.7),
    rule("decision:", "decision", r"^(?:the |our |my )?(?:final )?decision(?: is|:| was) (?:to )?(?P<value>.+)", phrase, "decision", confidence=0.75),
)  # fmt: skip

_GOALS = (
    rule("no longer wants to", "goal", rf"^(?:{SELF} (?:no longer|{'(?:do not|don.t)'}(?=.* {ENDING}$)) (?:want|plan|hope|aim|intend) to(?= (?:become|learn|run|start|open|write|publish|lose|quit|get|move|buy|travel|study|visit|build|train|retire)\b)|{AM} no longer (?:planning|training|trying|hoping|aiming|saving|going) (?:to|for)|(?:{SELF}|i've) (?:gave up|given up|stopped) (?:on )?(?:training for|saving for|trying to|my (?:goal|dream|plan) (?:of|to))) "
         r"(?P<value>.+)", phrase, "longer", "more", "gave up", "given up", "stopped", stance=Stance.DROPPED, confidence=0.8),
    rule("reached a goal", "goal", rf"^(?:{SELF}|i've|i have|we've) {ADVERB}(?:achieved|reached|accomplished|met) (?:my|our) goal (?:of|to) (?P<value>.+)", phrase, "achieved", "reached", "accomplished", "met ",
         stance=Stance.DONE, confidence=0.85),
    rule("goal is", "goal", r"^(?:(?:one of )?(?:my|our) (?:main |big |biggest |ultimate |long[- ]term |short[- ]term |personal |next |new |current |only |real )*(?:goals?|dreams?|dream job|ambitions?|aims?|resolutions?|new year'?s resolution|objective|bucket list(?: item)?)(?: (?:for|this) [\w ]{2,20}?)?)"
         r"(?: is| are|'s|:| has always been| was always| would be) (?:always |now |still |currently )*(?:to (?:be able to )?)?(?P<value>.+)", phrase, "goal", "dream", "ambition", "aim", "resolution", "objective", "bucket",
         confidence=0.85, when=When.DUE),
    rule("wants to become", "goal", rf"^(?:{SELF} {ADVERB}(?:want|hope|plan|aim|intend|aspire|am hoping|am planning|'d like|would like|would love|wish|am determined)|i'd (?:really )?(?:like|love)|i wanna|{AM} {ADVERB}(?:hoping|planning|aiming|looking|going|trying|determined|working hard|saving|studying|training)) (?:to )?(?:one day |eventually |someday |finally )?"
         r"(?P<value>(?:become|learn|run (?:a|the|my)|start (?:a|my|our)|open (?:a|my|our)|write (?:a|my)|publish|lose (?:\d|some|a few|weight|ten|five)|quit (?:smoking|drinking|my job)|"
         r"get (?:better at|a degree|my (?:degree|license|licence|phd|master's|pilot)|in shape|into|certified|promoted|fit|healthier)|improve my|master|travel (?:to|around|the|through)|save (?:up|enough|for|money)|buy (?:a|my|our) (?:\w+ )?(?:house|home|apartment|flat|car|boat)|build (?:a|my|our)|move to|retire|adopt|apply (?:to|for)|"
         r"complete (?:a|my)|finish my|launch|earn|climb|visit|hike the|teach|study (?!for)|specialize|pursue|expand|grow my|compete|qualify|win the|get married)\b.*)", _task, "want", "hop", "plan", "aim", "intend", "aspir", "like", "love", "wanna", "wish", "looking",
         "going", "trying", "determined", "working", "saving", "studying", "training", confidence=0.7, when=When.DUE),
    rule("wants to be a", "goal", rf"^(?:{SELF} {ADVERB}(?:want|hope|aspire|dream)|{AM} {ADVERB}(?:hoping|training|studying|planning)|i've always wanted) (?:to be|of being) (?P<value>an? .+)", lambda words: tuple(f"be {value}" for value in whole(words)), "to be", "of being", confidence=0.75),
    rule("training for", "goal", rf"^(?:{AM} {ADVERB}|(?:i've|i have|we've) been )(?P<value>(?:training|saving(?: up)?|preparing|studying|practi[cs]ing|working) (?:for|towards?) (?:an?|my|the|our) .+)", whole, "training", "saving", "preparing", "studying", "practi", "working",
         confidence=0.8, when=When.DUE),
    rule("dreams of", "goal", rf"^(?:{SELF} {ADVERB}dream of|{AM} {ADVERB}dreaming of|i've always dreamed of|my dream of) (?P<value>\w+ing .+)", phrase, "dream", confidence=0.75),
)  # fmt: skip

RULES = _STATE + _TODO + _DATES + _DECISIONS + _GOALS
