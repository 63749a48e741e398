"""Rules of English about work, study and techniques."""

from __future__ import annotations

from hybrid_memory.learning.rules.english.lexicon import LANGUAGES, TECHNOLOGY, either
from hybrid_memory.learning.rules.english.persons import WHO
from hybrid_memory.learning.rules.english.values import (
    languages,
    organisation,
    phrase,
    profession,
    role,
    study,
    technologies,
)
from hybrid_memory.learning.rules.english.wording import ADVERB, AM, AM_NOT, ENDING, HAVE, NOT, SELF, rule
from hybrid_memory.learning.rules.rule import When, always
from hybrid_memory.types import Stance

_JOB = r"(?:an? |the |(?-i:CEO|CTO|CFO|COO)\b)"
_AT = r"(?:at|for|with|by)"
_FREE = r"(?P<value>self[- ]employed|unemployed|retired|between jobs|freelancing)"
_SCHOOL = r"[\w'.& -]{0,60}?\b(?:university|college|school|institute|academy|conservatory|polytechnic|bootcamp|kindergarten)\b"

PROFESSION = (
    rule("no longer works as", "profession", rf"^(?:{AM} no longer|{AM_NOT}) (?:working as )?(?:an? )?(?P<value>.+?)(?: {ENDING})?$",
         profession, "longer", "any more", "anymore", stance=Stance.ENDED,
         guard=lambda found: "longer" in found[0].lower() or "more" in found[0].lower()),
    rule("used to be", "profession", rf"^{SELF} {ADVERB}(?:used to (?:be|work as)|worked as|was working as) (?:an? )?(?P<value>.+)",
         profession, "used to", "worked as", "working as", stance=Stance.ENDED),
    rule("quit being", "profession", rf"^{SELF} {ADVERB}(?:quit|stopped|gave up) (?:being|working as) (?:an? )?(?P<value>.+)",
         profession, "being", "working as", stance=Stance.ENDED),
    rule("is a", "profession", rf"^{AM} {ADVERB}(?:now )?(?:working as )?(?:an? |the )(?P<value>.+)", profession,
         "i am", "i'm", "im ", "we are", "we're", confidence=0.85),
    rule("works as", "profession", rf"^(?:{SELF} {ADVERB}work {ADVERB}(?:here )?as|{AM} {ADVERB}(?:working|employed) {ADVERB}as|"
         r"(?:i've|i have) (?:just )?(?:been working|worked|started(?: working| work)?) as|i (?:just |recently )?started "
         r"(?:working |work |a new job |a job |my new job )?as|i make (?:a|my) living as|i got (?:a|the|my first) (?:new )?job as|"
         rf"(?:i got|i was|i've been|i just got) promoted to|i was hired as|i earn my living as) {_JOB}?(?P<value>.+)", role,
         " as ", "promoted to", confidence=0.85, when=When.SINCE),
    rule("by trade", "profession", rf"^{AM} (?:an? )?(?P<value>[\w -]+?) by (?:trade|profession|training)", role, " by ",
         confidence=0.9),
    rule("became", "profession", rf"^(?:{SELF}|i've|i have) {ADVERB}(?:became|become) (?:an? )?(?P<value>.+)", profession,
         "became", "become", when=When.SINCE),
    rule("my job is", "profession", r"^my (?:job|profession|occupation|job title|position|current role|day job|title)(?: is|'s) "
         r"(?:being |that of )?(?:an? )?(?P<value>.+)", profession, "job", "profession", "occupation", "position", "role",
         "title"),
    rule("as a", "profession", r"^(?:speaking )?as an? (?P<value>[\w -]+?)(?:,|(?= i\b)|$)", profession, "as a", confidence=0.7),
    rule("without employer", "profession", rf"^{AM} {ADVERB}{_FREE}(?=$|[,.]| (?:and|now|as|in|so)\b)", phrase, "employed",
         "retired", "between jobs", "freelancing", confidence=0.85),
    rule("they used to be", "profession", rf"^{WHO} used to (?:be|work as) (?:an? )?(?P<value>.+)", profession, "used to",
         stance=Stance.ENDED),
    rule("they are", "profession", rf"^{WHO}(?: is|'s| works as| is working as|'s working as| became| has become) (?:now )?"
         rf"{_JOB}(?P<value>.+)", profession, " is ", "'s ", " as ", "beca", "become", confidence=0.75),
)  # fmt: skip

EMPLOYER = (
    rule("no longer works at", "employer", rf"^(?:{SELF} no longer work|{AM} no longer working|{SELF} {NOT} work|{AM_NOT} working)"
         rf" {_AT} (?P<value>.+?)(?: {ENDING})?$", organisation, "work", stance=Stance.ENDED, when=When.UNTIL,
         guard=lambda found: "longer" in found[0].lower() or "more" in found[0].lower()),
    rule("used to work at", "employer", rf"^{SELF} {ADVERB}used to (?:work|be) {_AT} (?P<value>.+)", organisation, "used to",
         stance=Stance.ENDED),
    rule("left", "employer", rf"^(?:{SELF}|i've|i have) {ADVERB}(?:quit|resigned from|left|got (?:fired|laid off) from|was (?:fired|"
         r"laid off) (?:from|by)|been laid off (?:from|by)|retired from) (?:(?:my|the) (?:old )?(?:job|position|role|post) (?:at|with) )?"
         r"(?P<value>.+)", organisation, "quit", "resigned", "left", "fired", "laid off", "retired", stance=Stance.ENDED,
         when=When.UNTIL, guard=lambda found: "left" not in found[0].lower() or " job " in found[0].lower()),
    rule("quit the job", "employer", rf"^(?:{SELF}|i've|i have) {ADVERB}(?:quit|lost|resigned from|left) my (?:old )?(?:job|position)(?=$|[,.]|"
         r" (?:last|yesterday|today|this|in|and)\b)", always(""), "my job", "my old job", "my position", stance=Stance.ENDED,
         when=When.UNTIL),
    rule("joined", "employer", rf"^(?:{SELF}|i've|i have) {ADVERB}(?:joined|started (?:working|work|a (?:new )?job|my new job) {_AT}|got (?:a|the) "
         r"(?:new )?job (?:at|with)|(?:was|got|been) hired by) (?P<value>.+?)(?= as\b|$)", organisation, "joined", "started",
         "job", "hired", when=When.SINCE, confidence=0.75,
         guard=lambda found: "joined" not in found[0].lower() or " as " in found.string),
    rule("works at", "employer", rf"^(?:{SELF} {ADVERB}work|{AM} {ADVERB}(?:working|employed)|(?:i've|i have) (?:been working|worked))"
         rf" (?:{ADVERB}|(?:full|part)[- ]time |remotely |here |as [\w -]+? ){_AT} (?P<value>.+)", organisation, "work", "employed",
         when=When.SINCE, confidence=0.85),
    rule("is a nurse at", "employer", rf"^(?:{AM} {ADVERB}(?:an? |the )|my job is (?:an? |the )?)(?:[\w-]+ ){{1,5}}?(?:at|for) (?P<value>.+)",
         organisation, " at ", " for ", confidence=0.65, guard=lambda found: bool(profession(found[0].split(" a", 1)[-1]
         .lstrip("n ").split(" at ")[0].split(" for ")[0]))),
    rule("my employer is", "employer", r"^my (?:employer|company|workplace|current company)(?: is|'s)(?: called)? (?P<value>.+)", organisation,
         "employer", "company", "workplace"),
    rule("they work at", "employer", rf"^{WHO}(?: works| is working|'s working| is employed| got a job) {_AT} (?P<value>.+)",
         organisation, "work", "employed", "job", confidence=0.7),
)  # fmt: skip

STUDY = (
    rule("school", "school", rf"^(?:{SELF} {ADVERB}(?:go to|went to|attend|attended|study at|studied at|graduated from|enrolled at|graduate from)|"
         rf"{AM} {ADVERB}(?:studying|a [\w ]*student|enrolled|a (?:freshman|sophomore|junior|senior)) at|{SELF} (?:studied|study) [\w ]+ at|"
         rf"(?:i've|i have) graduated from) (?P<value>(?:the )?(?:{_SCHOOL}(?: of (?:the )?(?-i:[A-Z])[\w ]+)?|(?-i:[A-Z][A-Z]+)\b.*|"
         r"(?-i:Harvard|Yale|Stanford|Oxford|Cambridge|Princeton|Columbia|Cornell|Berkeley)\b))", organisation, "school",
         "university", "college", "institute", "academy", "stud", "attend", "graduat", "went to", confidence=0.8),
    rule("degree from", "school", rf"^(?:{SELF} {ADVERB}(?:have|got|received|earned|did|hold|completed|finished)|my) (?:an? |my )?[\w ']{{0,40}}?"
         r"(?:degree|phd|ph\.?d\.?|bachelor'?s?|master'?s?|mba|diploma|ba|bsc|msc)\b(?: (?:degree|is))?(?: in [\w ]+?)? (?:from|at) (?P<value>.+)",
         organisation, "degree", "phd", "ph.d", "bachelor", "master", "mba", "diploma", "bsc", "msc", confidence=0.85),
    rule("degree in", "field_of_study", rf"^(?:{SELF} {ADVERB}(?:have|got|received|earned|did|hold|completed|finished|pursuing)|{AM} {ADVERB}(?:doing|"
         r"pursuing|finishing|getting|working on|completing)|my) (?:an? |my )?[\w ']{0,40}?(?:degree|phd|ph\.?d\.?|bachelor'?s?|master'?s?|ba|bsc|msc|"
         r"doctorate)\b(?: (?:degree|is|was))* in (?P<value>.+)", study, "degree", "phd", "ph.d", "bachelor", "master", "bsc", "msc",
         "doctorate", confidence=0.85),
    rule("studies", "field_of_study", rf"^(?:{SELF} {ADVERB}(?:study|studied|major(?:ed)? in|am majoring in|minor(?:ed)? in)|{AM} {ADVERB}(?:studying|"
         rf"majoring in|reading)|(?:i've|i have) (?:been studying|studied)) (?P<value>.+)", study, "stud", "major", "minor", "reading",
         confidence=0.8),
    rule("my major is", "field_of_study", r"^my (?:major|minor|field(?: of study)?|subject|degree)(?: is|'s| was) (?:in )?(?P<value>.+)", study,
         "major", "minor", "field", "subject", "degree", confidence=0.85),
    rule("X student", "field_of_study", rf"^{AM} {ADVERB}an? (?:\w+[- ]year )?(?P<value>[\w ]+?) (?:student|major|graduate)\b", study, "student",
         "major", "graduate", confidence=0.7),
)  # fmt: skip

_TECH = rf"(?:{TECHNOLOGY.pattern})"
_STACK = r"(?:code|program|write code|develop|build (?:everything|things|most things|it all)|script)"
_USED = rf"(?:[\w ,/&+#.'-]{{0,40}}?\b)?{_TECH}.*"

TECHNIQUE = (
    rule("no longer uses", "technology", rf"^(?:{SELF} no longer (?:use|code in|program in|work with)|(?:{SELF}|i've|we've) (?:stopped|quit) using|"
         rf"{SELF} {NOT} use(?=.*{ENDING})|(?:{SELF}|i've|we've) (?:dropped|ditched|abandoned|got rid of)) (?P<value>.+)", technologies,
         "longer", "using", "any", "dropped", "ditched", "abandoned", "got rid", stance=Stance.ENDED),
    rule("moved from one to another", "technology", rf"^(?:{SELF}|i've|we've|i have|we have|{AM}) {ADVERB}(?:moved|moving|migrated|migrating|switched|"
         r"switching|changed|converted|ported|porting) (?:[\w' -]{0,30}? )?from (?P<old>.+?) (?:over )?to (?P<value>.+)", technologies,
         " from ", when=When.SINCE),
    rule("moved to", "technology", rf"^(?:{SELF}|i've|we've|i have|we have) {ADVERB}(?:moved|migrated|switched) (?:over )?to (?P<value>.+?)"
         r"(?: from (?P<old>.+))?$", technologies, "moved to", "migrated", "switched", "moved over", when=When.SINCE),
    rule("codes in", "technology", rf"^(?:{SELF} {ADVERB}{_STACK}|{AM} {ADVERB}(?:coding|programming|developing|working)|i've been (?:coding|programming|"
         rf"working)) (?:{ADVERB}|[\w ]{{0,20}} )(?:in|with|using|on) (?P<value>.+)", technologies, "code", "coding", "program", "develop", "build",
         "script", "working", confidence=0.85),
    rule("writes in", "technology", rf"^{SELF} {ADVERB}(?:write|work) (?:{ADVERB}|[\w ]{{0,20}} )(?:in|with|on) (?P<value>{_USED})", technologies, "write",
         "work", confidence=0.8),
    rule("uses", "technology", rf"^(?:{SELF} {ADVERB}(?:use|run|deploy (?:on|to|with)|rely on|write|know|build on|host (?:it |everything )?on)|{AM} {ADVERB}"
         rf"(?:using|running|deploying (?:on|to)|learning|good at|experienced (?:in|with)|proficient (?:in|with)|fluent in|familiar with)|"
         rf"(?:i've|we've|i have|we have) been using|{SELF} (?:have experience|work daily) with|{HAVE} [\w ]{{0,20}}experience (?:in|with)) (?P<value>{_USED})",
         technologies, "use", "using", "run", "deploy", "rely", "write", "know", "build", "host", "learning", "experience",
         "proficient", "fluent", "familiar", "good at", confidence=0.8, guard=lambda found: len(found["value"].split()) <= 14),
    rule("stack is", "technology", r"^(?:my|our|the) (?:(?:tech(?:nical|nology)? )?stack|back ?-?end|front ?-?end|database|app|application|project|"
         r"service|codebase|server|api|website|site|editor|ide|setup|infrastructure|(?:main|primary|go-to|favou?rite|preferred) "
         r"(?:programming )?(?:language|framework|database|stack|editor|ide))(?: (?:is|are|runs?|uses?|consists?))+ (?:(?:written|built|of|on|with|in|"
         r"using|deployed|hosted|mainly|mostly|now|all|an?|the) )*(?P<value>.+)", technologies, "stack", "end", "database", "app",
         "project", "service", "codebase", "server", "api", "site", "editor", "ide", "setup", "infra", "language", "framework",
         confidence=0.75),
    rule("learning a language", "interest", rf"^(?:{AM} {ADVERB}(?:learning|studying|taking (?:a )?(?:class(?:es)? in)?)|(?:i've|i have) (?:been learning|"
         rf"started learning|started to learn)|i (?:just )?started (?:learning|to learn)) (?P<value>(?:{either(LANGUAGES)})\b.*)", languages,
         "learn", "study", "taking", confidence=0.75),
)  # fmt: skip

RULES = PROFESSION + EMPLOYER + STUDY + TECHNIQUE
