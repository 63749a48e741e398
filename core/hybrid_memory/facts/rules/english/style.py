"""Rules of English about how somebody wants to be spoken to."""

from __future__ import annotations

from hybrid_memory.facts.rules.english.lexicon import LANGUAGES, either
from hybrid_memory.facts.rules.english.values import stated
from hybrid_memory.facts.rules.english.wording import SELF, rule

_STYLE = (
    r"(?:(?:very|really|more|super|as|relatively|fairly|nice and|always|short and|simple and|clear and) )*(?:short|"
    r"brief|concise|simple|succinct|to the point|detailed|formal|informal|casual|friendly|polite|professional|direct|"
    r"straightforward|blunt|honest|humorous|funny|technical|non-technical|minimal|under \w+ (?:words|sentences|lines)|"
    r"below \w+ words|light-hearted|encouraging|factual|neutral|precise|clear|thorough|plain)"
)
_REPLIES = (
    r"(?:answers?|replies|reply|responses?|explanations?|messages?|feedback|summaries|emails?|descriptions?|updates?|"
    r"language|tone|style)"
)
_MANNER = (
    rf"(?:in (?:{either(LANGUAGES)}|bullet points|bullets|short sentences|full sentences|plain (?:english|language|"
    r"text)|simple (?:english|terms|words|language)|layman'?s terms|detail|(?:british|american) english|(?:an? "
    r")?(?:\w+ )?(?:formal|informal|friendly|casual|professional|humorous|polite|neutral|concise|technical|brief) "
    r"(?:tone|way|manner|style)|one (?:sentence|paragraph|line)|markdown|json|a few (?:words|sentences)|(?:two|three|"
    r"\d) (?:sentences|words|lines|paragraphs)(?: or less)?)(?: only)?|briefly|concisely|formally|informally|simply|"
    r"politely|step by step|with (?:examples|code|sources|emojis|bullet points|citations|references)|without "
    r"(?:emojis|jargon|preamble|small talk|apologies|disclaimers))"
)
_UNWANTED = (
    r"(?:emojis?|emoticons|jargon|bullet points|markdown|slang|technical (?:terms|jargon|language)|exclamation "
    r"(?:marks|points)|small talk|filler(?: words)?|apologi[sz]e|apologies|disclaimers?|long (?:answers|replies|"
    r"explanations|messages|texts)|sarcasm|passive voice|abbreviations|acronyms|caps|swear words|lecture me|"
    r"sugarcoat(?: things| it)?|repeat (?:the|my) question|repeat yourself|call me (?:sir|madam|ma'am))"
)

RULES = (
    rule("keep answers short", "communication_style", r"^(?:(?:please|pls|can you|could you|i'd like you to|i want "
         r"you to|from now on,?|always|i need you to|try to) )*(?P<value>(?:keep|make) (?:all )?(?:your |the |all |"
         rf"any )?{_REPLIES} {_STYLE}(?: (?:and|but) {_STYLE})?)", stated, "keep", "make", confidence=0.85),
    rule("answer in German", "communication_style", r"^(?:(?:please|pls|always|only|from now on,?|i'd like you to|i "
         r"want you to|i need you to|you should|can you please|going forward,?) )+(?P<value>(?:answer|reply|respond|"
         r"write|talk|speak|explain|communicate|text|message|give answers)(?: (?:to me|with me|me|everything|back|"
         rf"things|only|always|to my \w+|my questions))* {_MANNER})", stated, "answer", "reply", "respond", "write",
         "talk", "speak", "explain", "communicate", "text", "message", confidence=0.85),
    rule("speak German to me", "communication_style", r"^(?:please )?(?P<value>(?:answer|reply|respond|explain "
         r"(?:things|everything|it all)|talk to me|speak to me|speak with me|explain things to me|write to me|answer "
         rf"me) {_MANNER})(?=$|[,.]| (?:from now on|please|always|only)\b)", stated, "answer", "reply", "respond",
         "talk", "speak", "explain", "write", confidence=0.8),
    rule("be concise", "communication_style", r"^(?:please |always |just |from now on,? )*(?P<value>(?:be|stay|remain|"
         rf"sound) {_STYLE}(?: (?:and|but) {_STYLE})?)(?=$|[,.]| (?:with me|in your|when you|please|from now on)\b)",
         stated, "be ", "stay", "remain", "sound", confidence=0.75),
    rule("no emojis", "communication_style", r"^(?:please |from now on,? |and )*(?P<value>(?:don't|do not|never|avoid|"
         r"no|stop|skip|without)(?: ever)?(?: use| using| write| writing| add| adding| give me| send me| send)?(?: "
         rf"any| the| so many)? {_UNWANTED})\b", stated, "don't", "do not", "never", "avoid", "no ", "stop", "skip",
         "without", confidence=0.8),
    rule("use British English", "communication_style", r"^(?:please |always |from now on,? )*(?P<value>(?:use|stick to)"
         r" (?:british|american|plain|simple|formal|informal|simplified|everyday|clear|gender-neutral|inclusive|metric|"
         r"imperial|short|proper)(?: \w+)? (?:english|spelling|language|terms|words|units|measurements|sentences|"
         r"chinese))", stated, "use ", "stick to", confidence=0.8),
    rule("prefers short answers", "communication_style", rf"^{SELF} (?:really |much |strongly |would |'d )*(?:prefer|"
         r"like|want|need|love|appreciate|(?:would|'d) like) (?P<value>(?:if you (?:keep|kept) )?(?:your "
         rf")?(?:{_STYLE} {_REPLIES}|{_REPLIES} (?:to be |that are |which are |in |with |short).+))", stated, "answer",
         "repl", "response", "explanation", "message", "feedback", "tone", "language", "style", confidence=0.85),
)  # fmt: skip
