"""Rules of English about work, study and techniques."""

from __future__ import annotations

import re

from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.english.kinds import languages, organisation, profession, role, study, technologies
from hybrid_memory.facts.rules.english.lexicon import LANGUAGES, TECHNOLOGY, either
from hybrid_memory.facts.rules.english.persons import WHO
from hybrid_memory.facts.rules.english.values import phrase
from hybrid_memory.facts.rules.english.wording import ADVERB, AM, AM_NOT, ENDING, HAVE, NOT, SELF, having, lacking, rule
from hybrid_memory.facts.rules.rule import When, always

_MOST_WORDS = 14
_JOB = r"(?:an? |the |(?-i:CEO|CTO|CFO|COO)\b)"
_AT = r"(?:at|for|with|by)"
_FREE = r"(?P<value>self[- ]employed|unemployed|retired|between jobs|freelancing)"
_SCHOOL = (
    r"[\w'.& -]{0,60}?\b(?:university|college|school|institute|academy|conservatory|polytechnic|bootcamp|kindergarten)"
    r"\b"
)


def _has_role(found: re.Match[str]) -> bool:
    return bool(profession(found["role"]))


def _brief(found: re.Match[str]) -> bool:
    """Whether it is about the techniques themselves, and not a tale in which they occur."""
    return len(found["value"].split()) <= _MOST_WORDS


def _no_techniques(found: re.Match[str]) -> bool:
    """Whether it is an organisation: who works with Redis is not employed there."""
    parts = re.split(r",? and |, | & ", found["value"])
    return not all(TECHNOLOGY.fullmatch(part.strip()) for part in parts)


PROFESSION = (
    rule("no longer works as", "profession",
         rf"^(?:{AM} no longer|{AM_NOT}) (?:working as )?(?:an? )?(?P<value>.+?)(?: {ENDING})?$", profession, "longer",
         "any more", "anymore", stance=Stance.ENDED, guard=having(r"longer\b|more$|anymore$")),
    rule("used to be", "profession",
         rf"^{SELF} {ADVERB}(?:used to (?:be|work as)|worked as|was working as) (?:an? )?(?P<value>.+)", profession,
         "used to", "worked as", "working as", stance=Stance.ENDED),
    rule("quit being", "profession",
         rf"^{SELF} {ADVERB}(?:quit|stopped|gave up) (?:being|working as) (?:an? )?(?P<value>.+)", profession, "being",
         "working as", stance=Stance.ENDED),
    rule("is a", "profession", rf"^{AM} {ADVERB}(?:now )?(?:working as )?(?:an? |the )(?P<value>.+)", profession,
         "i am", "i'm", "im ", "we are", "we're", confidence=0.85),
    rule("works as", "profession", rf"^(?:{SELF} {ADVERB}work {ADVERB}(?:here )?as|{AM} {ADVERB}(?:working|employed) "
         rf"{ADVERB}as|(?:i've|i have) (?:just )?(?:been working|worked|started(?: working| work)?) as|i (?:just |"
         r"recently )?started (?:working |work |a new job |a job |my new job )?as|i make (?:a|my) living as|i got "
         r"(?:a|the|my first) (?:new )?job as|(?:i got|i was|i've been|i just got) promoted to|i was hired as|i earn "
         rf"my living as) {_JOB}?(?P<value>.+)", role, " as ", "promoted to", confidence=0.85, when=When.SINCE),
    rule("works in a field", "profession", rf"^(?:{SELF} {ADVERB}work|{AM} {ADVERB}(?:working|employed)|{AM}) in "
         rf"(?P<value>(?:the )?(?:\w+ ){{0,2}}?(?:marketing|advertising|finance|sales|tech|it|hr|human resources|"
         r"healthcare|health care|education|construction|retail|hospitality|banking|insurance|real estate|logistics|"
         r"consulting|publishing|journalism|fashion|engineering|software|biotech|academia|law|accounting|customer "
         r"service|manufacturing|agriculture|tourism|pr|public relations|design|research|film industry|music industry|"
         r"media)(?: industry| sector| department)?)(?=$|[,.]| (?:and|at|for|so|now)\b)", phrase, " in ",
         confidence=0.75),
    rule("by trade", "profession", rf"^{AM} (?:an? )?(?P<value>[\w -]+?) by (?:trade|profession|training)", role,
         " by ", confidence=0.9),
    rule("became", "profession", rf"^(?:{SELF}|i've|i have) {ADVERB}(?:became|become) (?:an? )?(?P<value>.+)",
         profession, "became", "become", when=When.SINCE),
    rule("my job is", "profession", r"^my (?:job|profession|occupation|job title|position|current role|day job|title)"
         r"(?: is|'s) (?:being |that of )?(?:an? )?(?P<value>.+)", profession, "job", "profession", "occupation",
         "position", "role", "title"),
    rule("as a", "profession", r"^(?:speaking )?as an? (?P<value>[\w -]+?)(?:,|(?= i\b)|$)", profession, "as a",
         confidence=0.7),
    rule("without employer", "profession", rf"^{AM} {ADVERB}{_FREE}(?=$|[,.]| (?:and|now|as|in|so)\b)", phrase,
         "employed", "retired", "between jobs", "freelancing", confidence=0.85),
    rule("they used to be", "profession", rf"^{WHO} used to (?:be|work as) (?:an? )?(?P<value>.+)", profession,
         "used to", stance=Stance.ENDED),
    rule("they are", "profession",
         rf"^{WHO}(?: is|'s| works as| is working as|'s working as| became| has become) (?:now )?{_JOB}(?P<value>.+)",
         profession, " is ", "'s ", " as ", "beca", "become", confidence=0.75),
)  # fmt: skip

EMPLOYER = (
    rule("no longer works at", "employer", rf"^(?:{SELF} no longer work|{AM} no longer working|{SELF} {NOT} work|"
         rf"{AM_NOT} working) {_AT} (?P<value>.+?)(?: {ENDING})?$", organisation, "work", stance=Stance.ENDED,
         when=When.UNTIL, guard=having(r"longer\b|more$|anymore$")),
    rule("used to work at", "employer", rf"^{SELF} {ADVERB}used to (?:work|be) {_AT} (?P<value>.+)", organisation,
         "used to", stance=Stance.ENDED),
    rule("left", "employer", rf"^(?:{SELF}|i've|i have) {ADVERB}(?:quit|resigned from|left|got (?:fired|laid off) from|"
         r"was (?:fired|laid off) (?:from|by)|been laid off (?:from|by)|retired from) (?:(?:my|the) (?:old )?(?:job|"
         r"position|role|post) (?:at|with) )?(?P<value>.+)", organisation, "quit", "resigned", "left", "fired",
         "laid off", "retired", stance=Stance.ENDED, when=When.UNTIL,
         guard=lacking(r"\bleft (?!.* (?:job|position|role|post)\b)")),
    rule("quit the job", "employer", rf"^(?:{SELF}|i've|i have) {ADVERB}(?:quit|lost|resigned from|left) my (?:old "
         r")?(?:job|position)(?=$|[,.]| (?:last|yesterday|today|this|in|and)\b)", always(""), "my job", "my old job",
         "my position", stance=Stance.ENDED, when=When.UNTIL),
    rule("joined", "employer", rf"^(?:{SELF}|i've|i have) {ADVERB}(?:joined|started (?:working|work|a (?:new )?job|my "
         rf"new job) {_AT}|got (?:a|the) (?:new )?job (?:at|with)|(?:was|got|been) hired by) (?P<value>.+?)(?= as\b|$)",
         organisation, "joined", "started", "job", "hired", when=When.SINCE, confidence=0.75,
         guard=lacking(r"\bjoined (?!.* as\b)")),
    rule("works at", "employer", rf"^(?:{SELF} {ADVERB}work|{AM} {ADVERB}(?:working|employed)|(?:i've|i have) (?:been "
         rf"working|worked)) (?:{ADVERB}|(?:full|part)[- ]time |remotely |here |as [\w -]+? ){_AT} (?P<value>.+)",
         organisation, "work", "employed", when=When.SINCE, confidence=0.85, guard=_no_techniques),
    rule("works in a place", "employer", rf"^(?:{SELF} {ADVERB}work|{AM} {ADVERB}working) in (?P<value>(?:an?|the) "
         r"(?!city\b|area\b|field\b|(?:\w+ )+(?:area|region|industry|sector|field)\b).+)", organisation, "work",
         confidence=0.7),
    rule("teaches at", "employer",
         rf"^(?:{SELF} {ADVERB}teach|{AM} {ADVERB}teaching)(?: [\w ]{{1,30}}?)? at (?P<value>.+)", organisation,
         "teach", confidence=0.75),
    rule("is a nurse at", "employer", rf"^(?:{AM} {ADVERB}(?:an? |the )|my job is (?:an? |the )?)(?P<role>(?:[\w-]+ "
         rf"){{1,5}}?)(?:at|for) (?P<value>.+)", organisation, " at ", " for ", confidence=0.65, guard=_has_role),
    rule("my employer is", "employer",
         r"^my (?:employer|company|workplace|current company)(?: is|'s)(?: called)? (?P<value>.+)", organisation,
         "employer", "company", "workplace"),
    rule("they work at", "employer",
         rf"^{WHO}(?: works| is working|'s working| is employed| got a job) {_AT} (?P<value>.+)", organisation, "work",
         "employed", "job", confidence=0.7),
)  # fmt: skip

STUDY = (
    rule("school", "school", rf"^(?:{SELF} {ADVERB}(?:go to|went to|attend|attended|study at|studied at|graduated from|"
         rf"enrolled at|graduate from)|{AM} {ADVERB}(?:studying|a [\w ]*student|enrolled|a (?:freshman|sophomore|"
         rf"junior|senior)) at|{SELF} (?:studied|study) [\w ]+ at|(?:i've|i have) graduated from) (?P<value>(?!the "
         rf"same\b|the wrong\b)(?:the )?(?:{_SCHOOL}(?: of (?:the )?(?-i:[A-Z])[\w ]+)?|(?-i:[A-Z][A-Z]+)\b.*|"
         r"(?-i:Harvard|Yale|Stanford|Oxford|Cambridge|Princeton|Columbia|Cornell|Berkeley)\b))", organisation,
         "school", "university", "college", "institute", "academy", "stud", "attend", "graduat", "went to",
         confidence=0.8),
    rule("at university", "school", rf"^{AM} (?:currently |now |still )?at (?P<value>(?:the )?(?:University of "
         rf"(?-i:[A-Z]).*|(?-i:[A-Z])[\w'& ]{{2,40}} (?:University|College|Institute|School)\b.*))", organisation,
         "university", "college", "institute", "school", confidence=0.75),
    rule("degree from", "school", rf"^(?:{SELF} {ADVERB}(?:have|got|received|earned|did|hold|completed|finished)|my) "
         rf"(?:an? |my )?[\w ']{{0,40}}?(?:degree|phd|ph\.?d\.?|bachelor'?s?|master'?s?|mba|diploma|ba|bsc|msc)\b(?: "
         r"(?:degree|is))?(?: in [\w ]+?)? (?:from|at) (?P<value>.+)", organisation, "degree", "phd", "ph.d",
         "bachelor", "master", "mba", "diploma", "bsc", "msc", confidence=0.85),
    rule("degree in", "field_of_study", rf"^(?:{SELF} {ADVERB}(?:have|got|received|earned|did|hold|completed|finished|"
         rf"pursuing)|{AM} {ADVERB}(?:doing|pursuing|finishing|getting|working on|completing)|my) (?:an? |my )?[\w "
         rf"']{{0,40}}?(?:degree|phd|ph\.?d\.?|bachelor'?s?|master'?s?|ba|bsc|msc|doctorate)\b(?: (?:degree|is|was))* "
         r"in (?P<value>.+)", study, "degree", "phd", "ph.d", "bachelor", "master", "bsc", "msc", "doctorate",
         confidence=0.85),
    rule("studies", "field_of_study", rf"^(?:{SELF} {ADVERB}(?:study|studied|major(?:ed)? in|am majoring in|"
         rf"minor(?:ed)? in)|{AM} {ADVERB}(?:studying|majoring in|reading)|(?:i've|i have) (?:been studying|studied)) "
         r"(?P<value>.+)", study, "stud", "major", "minor", "reading", confidence=0.8),
    rule("my major is", "field_of_study",
         r"^my (?:major|minor|field(?: of study)?|subject|degree)(?: is|'s| was) (?:in )?(?P<value>.+)", study, "major",
         "minor", "field", "subject", "degree", confidence=0.85),
    rule("X student", "field_of_study",
         rf"^{AM} {ADVERB}an? (?:\w+[- ]year )?(?P<value>[\w ]+?) (?:student|major|graduate)\b", study, "student",
         "major", "graduate", confidence=0.7),
)  # fmt: skip

_TECH = rf"(?:{TECHNOLOGY.pattern})"
_STACK = r"(?:code|program|write code|develop|build (?:everything|things|most things|it all)|script)"
_USED = rf"(?:[\w ,/&+#.'-]{{0,40}}?\b)?{_TECH}.*"

TECHNIQUE = (
    rule("no longer uses", "technology", rf"^(?:{SELF} no longer (?:use|code in|program in|work with)|(?:{SELF}|i've|"
         rf"we've) (?:stopped|quit) using|{SELF} {NOT} use(?=.*{ENDING})|(?:{SELF}|i've|we've) (?:dropped|ditched|"
         r"abandoned|got rid of)) (?P<value>.+)", technologies, "longer", "using", "any", "dropped", "ditched",
         "abandoned", "got rid", stance=Stance.ENDED),
    rule("moved from one to another", "technology", rf"^(?:{SELF}|i've|we've|i have|we have|{AM}) {ADVERB}(?:moved|"
         rf"moving|migrated|migrating|switched|switching|changed|converted|ported|porting) (?:[\w' -]{{0,30}}? )?from "
         r"(?P<old>.+?) (?:over )?to (?P<value>.+)", technologies, " from ", when=When.SINCE),
    rule("moved to", "technology", rf"^(?:{SELF}|i've|we've|i have|we have) {ADVERB}(?:moved|migrated|switched) "
         r"(?:over )?to (?P<value>.+?)(?: from (?P<old>.+))?$", technologies, "moved to", "migrated", "switched",
         "moved over", when=When.SINCE),
    rule("codes in", "technology", rf"^(?:{SELF} {ADVERB}{_STACK}|{AM} {ADVERB}(?:coding|programming|developing|"
         rf"working)|i've been (?:coding|programming|working)) (?:{ADVERB}|[\w ]{{0,20}} )(?:in|with|using|on) "
         r"(?P<value>.+)", technologies, "code", "coding", "program", "develop", "build", "script", "working",
         confidence=0.85),
    rule("writes in", "technology",
         rf"^{SELF} {ADVERB}(?:write|work) (?:{ADVERB}|[\w ]{{0,20}} )(?:in|with|on) (?P<value>{_USED})", technologies,
         "write", "work", confidence=0.8),
    rule("uses", "technology", rf"^(?:{SELF} {ADVERB}(?:use|run|deploy (?:on|to|with)|rely on|write|know|build on|host "
         rf"(?:it |everything )?on)|{AM} {ADVERB}(?:using|running|deploying (?:on|to)|learning|good at|experienced "
         r"(?:in|with)|proficient (?:in|with)|fluent in|familiar with)|(?:i've|we've|i have|we have) been using|"
         rf"{SELF} (?:have experience|work daily) with|{HAVE} [\w ]{{0,20}}experience (?:in|with)) (?P<value>{_USED})",
         technologies, "use", "using", "run", "deploy", "rely", "write", "know", "build", "host", "learning",
         "experience", "proficient", "fluent", "familiar", "good at", confidence=0.8, guard=_brief),
    rule("stack is", "technology", r"^(?:my|our|the) (?:(?:tech(?:nical|nology)? )?stack|back ?-?end|front ?-?end|"
         r"database|app|application|project|service|codebase|server|api|website|site|editor|ide|setup|infrastructure|"
         r"(?:main|primary|go-to|favou?rite|preferred) (?:programming )?(?:language|framework|database|stack|editor|"
         r"ide))(?: (?:is|are|runs?|uses?|consists?))+ (?:(?:written|built|of|on|with|in|using|deployed|hosted|mainly|"
         r"mostly|now|all|an?|the) )*(?P<value>.+)", technologies, "stack", "end", "database", "app", "project",
         "service", "codebase", "server", "api", "site", "editor", "ide", "setup", "infra", "language", "framework",
         confidence=0.75),
    rule("learning a language", "interest", rf"^(?:{AM} {ADVERB}(?:learning|studying|taking (?:a )?(?:class(?:es)? "
         r"in)?)|(?:i've|i have) (?:been learning|started learning|started to learn)|i (?:just )?started (?:learning|"
         rf"to learn)) (?P<value>(?:{either(LANGUAGES)})\b.*)", languages, "learn", "study", "taking", confidence=0.75),
)  # fmt: skip

RULES = PROFESSION + EMPLOYER + STUDY + TECHNIQUE
