"""Rules of English about standing instructions, the way to speak, and whatever else "my X is Y" tells."""

from __future__ import annotations

import re

from hybrid_memory.learning.attributes import RULE
from hybrid_memory.learning.rules.english.code import singular
from hybrid_memory.learning.rules.english.lexicon import KIN, LANGUAGES, either
from hybrid_memory.learning.rules.english.values import stated, tidy, whole
from hybrid_memory.learning.rules.english.wording import AM, HAVE, SELF, rule
from hybrid_memory.learning.rules.rule import When

_STYLE = (
    r"(?:(?:very|really|more|super|as|relatively|fairly|nice and|always|short and|simple and|clear and) )*(?:short|brief|concise|simple|succinct|to the point|detailed|formal|informal|"
    r"casual|friendly|polite|professional|direct|straightforward|blunt|honest|humorous|funny|technical|non-technical|minimal|under \w+ (?:words|sentences|lines)|"
    r"below \w+ words|light-hearted|encouraging|factual|neutral|precise|clear|thorough|plain)"
)
_REPLIES = r"(?:answers?|replies|reply|responses?|explanations?|messages?|feedback|summaries|emails?|descriptions?|updates?|language|tone|style)"
_MANNER = (
    rf"(?:in (?:{either(LANGUAGES)}|bullet points|bullets|short sentences|full sentences|plain (?:english|language|text)|simple (?:english|terms|words|language)|layman'?s terms|"
    r"detail|(?:british|american) english|(?:an? )?(?:\w+ )?(?:formal|informal|friendly|casual|professional|humorous|polite|neutral|concise|technical|brief) (?:tone|way|manner|style)|"
    r"one (?:sentence|paragraph|line)|markdown|json|a few (?:words|sentences)|(?:two|three|\d) (?:sentences|words|lines|paragraphs)(?: or less)?)(?: only)?|briefly|concisely|formally|"
    r"informally|simply|politely|step by step|with (?:examples|code|sources|emojis|bullet points|citations|references)|without (?:emojis|jargon|preamble|small talk|apologies|disclaimers))"
)
_UNWANTED = (
    r"(?:emojis?|emoticons|jargon|bullet points|markdown|slang|technical (?:terms|jargon|language)|exclamation (?:marks|points)|small talk|filler(?: words)?|"
    r"apologi[sz]e|apologies|disclaimers?|long (?:answers|replies|explanations|messages|texts)|sarcasm|passive voice|abbreviations|acronyms|caps|swear words|"
    r"lecture me|sugarcoat(?: things| it)?|repeat (?:the|my) question|repeat yourself|call me (?:sir|madam|ma'am))"
)

STYLE = (
    rule("keep answers short", "communication_style", rf"^(?:(?:please|pls|can you|could you|i'd like you to|i want you to|from now on,?|always|i need you to|try to) )*(?P<value>(?:keep|make) (?:all )?(?:your |the |all |any )?"
         rf"{_REPLIES} {_STYLE}(?: (?:and|but) {_STYLE})?)", stated, "keep", "make", confidence=0.85),
    rule("answer in German", "communication_style", rf"^(?:(?:please|pls|always|only|from now on,?|i'd like you to|i want you to|i need you to|you should|can you please|going forward,?) )+(?P<value>(?:answer|reply|respond|write|talk|speak|explain|communicate|text|message|give answers)"
         rf"(?: (?:to me|with me|me|everything|back|things|only|always|to my \w+|my questions))* {_MANNER})", stated, "answer", "reply", "respond", "write", "talk", "speak", "explain", "communicate", "text", "message", confidence=0.85),
    rule("speak German to me", "communication_style", rf"^(?:please )?(?P<value>(?:answer|reply|respond|explain (?:things|everything|it all)|talk to me|speak to me|speak with me|explain things to me|write to me|answer me) {_MANNER})(?=$|[,.]| (?:from now on|please|always|only)\b)", stated, "answer",
         "reply", "respond", "talk", "speak", "explain", "write", confidence=0.8),
    rule("be concise", "communication_style", rf"^(?:please |always |just |from now on,? )*(?P<value>(?:be|stay|remain|sound) {_STYLE}(?: (?:and|but) {_STYLE})?)(?=$|[,.]| (?:with me|in your|when you|please|from now on)\b)", stated, "be ", "stay", "remain",
         "sound", confidence=0.75),
    rule("no emojis", "communication_style", rf"^(?:please |from now on,? |and )*(?P<value>(?:don't|do not|never|avoid|no|stop|skip|without)(?: ever)?(?: use| using| write| writing| add| adding| give me| send me| send)?(?: any| the| so many)? {_UNWANTED})\b", stated, "don't", "do not", "never",
         "avoid", "no ", "stop", "skip", "without", confidence=0.8),
    rule("use British English", "communication_style", r"^(?:please |always |from now on,? )*(?P<value>(?:use|stick to) (?:british|american|plain|simple|formal|informal|simplified|everyday|clear|gender-neutral|inclusive|metric|imperial|short|proper)(?: \w+)? "
         r"(?:english|spelling|language|terms|words|units|measurements|sentences|chinese))", stated, "use ", "stick to", confidence=0.8),
    rule("prefers short answers", "communication_style", rf"^{SELF} (?:really |much |strongly |would |'d )*(?:prefer|like|want|need|love|appreciate|(?:would|'d) like) (?P<value>(?:if you (?:keep|kept) )?(?:your )?(?:{_STYLE} {_REPLIES}|{_REPLIES} (?:to be |that are |which are |in |with |short).+))", stated,
         "answer", "repl", "response", "explanation", "message", "feedback", "tone", "language", "style", confidence=0.85),
)  # fmt: skip


_STANDING = r"(?:from now on|going forward|moving forward|in (?:the )?future|henceforth|from here on(?: out)?|from today on(?:wards)?|starting (?:today|now|tomorrow)|as of (?:now|today)|by default|whenever possible)"
_DO = (
    r"(?:use|add|include|write|start|begin|end|put|prefix|suffix|name|import|ask|answer|reply|respond|keep|explain|give|show|format|run|check|cite|sort|return|convert|round|tag|document|"
    r"annotate|append|wrap|avoid|mention|address|speak|send|remind|book|choose|suggest|recommend|assume|follow|create|commit|push|delete|change|touch|edit|skip|list|translate|confirm|offer|order|"
    r"schedule|indent|quote|link|sign|leave|log|validate|test|call|refer to|treat|provide|prefer|limit|stop|be|do|make)"
)


_VAGUE = re.compile(r"\b(?:it|that|this|these|those|them|him|her|you|again|me|one|so|there|here|up|down|yourself|us|what|how|why|mind|sure)\b")


def _about(found: re.Match[str]) -> str:
    """The object of a general instruction in the singular, or else its verb."""
    words = re.sub(r"^(?:(?:any|all|the|your|our|my|an?|some|every|each|more|only|in|with|to|for|me|us) )+", "", found["rest"].strip(), flags=re.IGNORECASE)
    words = re.split(r"\b(?:with|in|for|to|when|at|as|from|on|by|before|after|of|that|unless|if|and|or|instead|while|without|into)\b|[,.;:]", words, maxsplit=1)[0].strip().lower()
    if _VAGUE.search(words):
        return ""
    words = " ".join(word for word in words.split()[-2:])
    return RULE + (singular(words) if words else found["do"].lower())


def _instruction(words: str) -> tuple[str, ...]:
    return tuple(value for value in stated(words) if " " in re.sub(r"^(?:always|never|don't|do not|only) ", "", value))


INSTRUCTIONS = (
    rule("always do", _about, rf"^(?:(?:please|and|so|also|remember(?: to)?|{_STANDING},?|you should|you must|make sure (?:to|you|that you)|i(?:'d like| want| need) you to|be sure to|we) )*(?P<value>(?:always|never|don't ever|do not ever) (?P<do>{_DO})\b ?(?P<rest>.+))", _instruction, "always", "never", "ever ",
         confidence=0.75, guard=lambda found: re.match(r"(?:be|do|make|call|leave|stop|push|touch|change)\b", found["do"], re.IGNORECASE) is None or re.search(r"\b(?:please|you)\b", found.string, re.IGNORECASE) is not None),
    rule("from now on", _about, rf"^(?:please,? )?{_STANDING},? (?:(?:please|you should|you must|make sure (?:to|you|that you)|i(?:'d like| want| need) (?:you|us) to(?: start)?|be sure to|always|also) )*(?P<value>(?:never |don't |do not |always |only |no longer )?(?P<do>{_DO})\b ?(?P<rest>.+))", _instruction, "from", "forward",
         "future", "hence", "start", "as of", "default", "possible", confidence=0.75),
    rule("from now on, behind", _about, rf"^(?:please,? )?(?P<value>(?:never |don't |do not |always |only )?(?P<do>{_DO}) (?P<rest>[^,]{{3,80}}?)),? {_STANDING}$", _instruction, "from", "forward", "future", "default", confidence=0.75),
)  # fmt: skip

_HEADS = (
    r"(?:password|passcode|pin|code|number|budget|deadline|salary|rent|weight|height|size|username|user name|handle|nickname|email|e-mail|address|phone|zip code|postcode|license plate|licence plate|"
    r"blood type|star sign|zodiac sign|colou?r|record|best|time zone|timezone|time|score|rating|gpa|iban|id|account|seat|gate|flight|room|locker|limit|target|version|branch|port|url|website|blog|channel|"
    r"maiden name|middle name|last name|surname|first name|car|bike|laptop|phone|server|host|provider|bank|gym|doctor|dentist|therapist|lawyer|landlord|tutor|coach|teacher|professor|mentor|supervisor|"
    r"team|club|project|thesis|major|hometown|currency|mileage|average|pace|bpm|heart rate|blood pressure|diet|schedule|shift|day off|anniversary|commute|route)"
)
_NOT_ABOUT = re.compile(
    r"^(?:mind|point|question|guess|opinion|heart|problem|apolog\w+|turn|pleasure|bad|fault|idea|concern|thoughts?|feelings?|day|life|week|goal|dream|hobby|favou?rite|understanding|name|thing|"
    r"only|biggest|main|first|advice|plan|job|answer|response|best friend|god|whole|own)\b", re.IGNORECASE)
_PLAIN = re.compile(r"\S+@\S|[+#$€£]?\d|[\w#.]*\d|[A-Z][\w'-]+|[\"'`]")

_SAID_NOW = r"(?:is|are|'s|is now|are now|is currently|has been|will be)"


def dynamic(found: re.Match[str]) -> str:
    """The noun phrase of "my X is Y" in snake case."""
    words = found["about"].lower().replace("'s", "").replace("-", " ")
    words = re.sub(r"^(?:new|current|own|actual|exact|latest) ", "", words)
    if _NOT_ABOUT.match(words) or any(word in KIN for word in words.split()) or len(words.split()) > 4:
        return ""
    known = {"email address": "email", "e mail": "email", "phone number": "phone", "mobile number": "phone", "e mail address": "email", "eye colour": "eye_color", "hair colour": "hair_color"}
    return known.get(words, "_".join(words.split()))


def _exact(found: re.Match[str]) -> bool:
    """Whether the value is a name, a figure or a code, so that it is no remark."""
    value = tidy(found["value"])
    return _PLAIN.match(value) is not None and len(value.split()) <= 8


DYNAMIC = (
    rule("changed from to", dynamic, r"^(?:(?:i|we|they|i've|we've|i have|we have) (?:just |recently |finally )*(?:changed|switched|moved|raised|lowered|increased|reduced|bumped|cut|extended|updated) (?:my|our|the) (?P<about>[\w' -]{2,40}?) from (?P<old>.+?) to (?P<value>.+))", whole, " from ", single=True,
         when=When.IGNORED, confidence=0.8),
    rule("it changed from to", dynamic, r"^(?:my|our|the) (?P<about>[\w' -]{2,40}?) (?:has |just |was |went |has been )*(?:changed|moved|went|switched|dropped|rose|increased|improved|been changed|been moved|raised|gone)(?: up| down)? from (?P<old>.+?) to (?P<value>.+)", whole, " from ", single=True, confidence=0.8),
    rule("the X is now", dynamic, rf"^(?:my|our|the) (?:new )?(?P<about>[\w'-]+(?: [\w'-]+){{0,3}}?) (?:is|are) now (?P<value>.+)", whole, " now ", single=True, confidence=0.65, guard=_exact),
    rule("my X is", dynamic, rf"^(?:my|our) (?P<about>(?:[\w'-]+ ){{0,3}}?{_HEADS}) {_SAID_NOW} (?:at |on |about |around |coming up on |set to |called |named |at least )?(?P<value>.+)", whole, "my ", "our ", single=True, confidence=0.65, guard=_exact),
    rule("my eyes are", lambda found: f"{found['about'].rstrip('s').lower()}_color", rf"^(?:my (?P<about>eyes|hair) (?:is|are)|{HAVE} (?=[\w ]+ eyes)) (?:naturally )?(?P<value>(?:light |dark |bright )?(?:blue|green|brown|hazel|grey|gray|black|blond|blonde|red|white|auburn))\b", whole, "eyes", "hair", single=True,
         guard=lambda found: found["about"] is not None),
    rule("is tall", "height", rf"^{AM} (?:only |about |around |almost |exactly )*(?P<value>\d(?:'|ft|feet| feet| foot)[\d' \"a-z]{{0,12}}|\d[.,]\d\d ?m(?:eters?)?|\d{{3}} ?cm)\b", whole, "'", "ft", "f", "cm", "m", confidence=0.8),
)  # fmt: skip

RULES = STYLE + INSTRUCTIONS
