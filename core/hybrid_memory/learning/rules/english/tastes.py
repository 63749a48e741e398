"""Rules of English about tastes: what somebody likes, prefers, avoids, eats, and does with their time."""

from __future__ import annotations

import re

from hybrid_memory.learning.rules.english.persons import WHO
from hybrid_memory.learning.rules.english.values import ailment, belonging, deeds, interests, phrase, stated, things, whole
from hybrid_memory.learning.rules.english.wording import ADVERB, AM, AM_NOT, ENDING, HAVE, NOT, OFTEN, SELF, WEEKDAYS, rule
from hybrid_memory.learning.rules.rule import When
from hybrid_memory.types import Stance

_LIKE = r"(?:like|love|enjoy|adore|fancy)"
_HATE = r"(?:dislike|hate|detest|despise|loathe|can't stand|cannot stand|can't bear|cannot bear|can't tolerate|cannot tolerate)"
_STRONG = r"(?:(?:an?|no|such|such an?|very|really|rather|quite|strong|slight|deep|deep-seated|intense|extreme|big|great|huge|clear|general|certain|strict|" \
    r"ethical|personal|moral|genuine|lifelong|marked) )*"
_DIET = r"(?:vegan|vegetarian|pescatarian|pescetarian|flexitarian|fruitarian|carnivore|keto|ketogenic|paleo|plant[- ]based|gluten[- ]free|dairy[- ]free|" \
    r"lactose[- ]free|sugar[- ]free|low[- ]carb|low[- ]fat|low[- ]sodium|high[- ]protein|mediterranean|halal|kosher|raw(?: food)?|whole30|organic|macrobiotic)"
_GAMES = r"(?:tennis|table tennis|ping[- ]pong|soccer|football|basketball|volleyball|baseball|softball|rugby|cricket|hockey|ice hockey|field hockey|golf|badminton|squash|" \
    r"lacrosse|handball|water polo|polo|pool|billiards|snooker|darts|bowling|chess|go|poker|bridge|checkers|backgammon|scrabble|board games|card games|video games|" \
    r"computer games|dungeons (?:and|&) dragons|d&d|minecraft|ultimate frisbee|frisbee|paintball|padel|pickleball|mahjong|sudoku|" \
    r"(?:the |some |a little |a bit of )?(?:\w+ )?(?:guitar|piano|violin|cello|drums?|bass|flute|saxophone|sax|trumpet|clarinet|ukulele|harp|harmonica|banjo|keyboards?|" \
    r"organ|accordion|oboe|trombone|mandolin|viola|recorder|bagpipes))"
_PURSUITS = r"(?:hiking|running|jogging|swimming|cycling|biking|skiing|snowboarding|surfing|climbing|rock climbing|bouldering|camping|fishing|hunting|sailing|rowing|kayaking|" \
    r"canoeing|skating|ice skating|skateboarding|dancing|bowling|birdwatching|birding|scuba diving|snorkeling|horse(?:back)? riding|painting|drawing|sketching|" \
    r"photography|knitting|crocheting|sewing|gardening|baking|cooking|woodworking|pottery|calligraphy|blogging|vlogging|writing (?:poetry|poems|fiction|stories|songs)|" \
    r"yoga|pilates|karate|judo|taekwondo|boxing|kickboxing|tai chi|crossfit|martial arts|gymnastics|weightlifting|origami|meditation|stand-up comedy|improv|archery|fencing|" \
    r"geocaching|astronomy|stargazing|beekeeping|volunteering|singing)"

_GONE = (
    rule("no longer likes", "likes", rf"^{SELF} (?:no longer (?:really )?{_LIKE}|{NOT} (?:really )?{_LIKE}(?=.* {ENDING}$)) (?P<value>.+)", things,
         "longer", "more", stance=Stance.ENDED, confidence=0.85),
    rule("no longer into", "likes", rf"^(?:{AM} no longer|{AM_NOT}(?=.* {ENDING}$)) (?:really )?(?:into|interested in|a (?:big |huge )?fan of|fond of|"
         r"keen on) (?P<value>.+)", things, "longer", "more", stance=Stance.ENDED, confidence=0.85),
    rule("used to like", "likes", rf"^{SELF} {ADVERB}used to (?:really )?{_LIKE} (?P<value>.+)", things, "used to", stance=Stance.ENDED, confidence=0.8),
    rule("went off", "likes", rf"^(?:{SELF}|i've|i have|{AM}) {ADVERB}(?:gone off|stopped liking|stopped enjoying|lost interest in|losing interest in|"
         r"fell out of love with|(?:got|grown|am) tired of|sick of|over my love (?:of|for)) (?P<value>.+)", things, "gone off", "stopped", "lost", "losing", "tired",
         "sick of", "fell out", stance=Stance.ENDED, confidence=0.75),
    rule("no longer dislikes", "dislikes", rf"^{SELF} (?:no longer (?:really )?{_HATE}|{NOT} (?:hate|dislike|mind)(?=.* {ENDING}$)) (?P<value>.+)", things,
         "longer", "more", stance=Stance.ENDED, confidence=0.8),
    rule("no longer avoids", "avoids", rf"^(?:{SELF} no longer avoid|{SELF} {NOT} avoid(?=.* {ENDING}$)|(?:{SELF}|i've) stopped avoiding) (?P<value>.+)", things,
         "avoid", stance=Stance.ENDED, confidence=0.8),
    rule("no longer prefers", "prefers", rf"^(?:{SELF} no longer prefer|{SELF} {NOT} prefer(?=.* {ENDING}$)) (?P<value>.+)", things, "prefer",
         stance=Stance.ENDED, confidence=0.8),
    rule("no longer plays", "interest", rf"^(?:{SELF} no longer (?:play|do|go|practi[cs]e|collect)|{SELF} {NOT} (?:play|do|go|practi[cs]e|collect)(?=.* {ENDING}$)|"
         rf"(?:{SELF}|i've|i have) {ADVERB}(?:stopped|quit|given up|gave up) (?:playing|doing|going|practi[cs]ing|collecting)?) ?"
         rf"(?P<value>(?:{_GAMES}|{_PURSUITS}|stamps|coins|vinyl)\b)", phrase, "longer", "more", "stopped", "quit", "gave up", "given up", stance=Stance.ENDED,
         confidence=0.85),
    rule("quit a habit", "habit", rf"^(?:{SELF}|i've|i have) {ADVERB}(?:stopped|quit|gave up|given up) (?P<value>(?:smoking|drinking|vaping|gambling|biting|snacking|eating|"
         r"watching|using|going to|skipping|shopping|driving|taking|coffee|alcohol|sugar|meat|cigarettes|caffeine|dairy|social media|facebook|instagram|twitter)\b.*)", phrase,
         "stopped", "quit", "gave up", "given up", stance=Stance.ENDED, confidence=0.75),
    rule("no longer on a diet", "diet", rf"^(?:{AM} no longer|{AM_NOT}(?=.* {ENDING}$)) (?:an? |on an? )?(?P<value>{_DIET})(?: diet)?\b", phrase, "longer", "more",
         stance=Stance.ENDED, confidence=0.85),
    rule("stopped the diet", "diet", rf"^(?:{SELF}|i've) {ADVERB}(?:used to be|stopped being|quit being|quit|stopped|gave up) (?:an? |the |my )?(?P<value>{_DIET})(?: diet)?\b", phrase,
         "used to be", "stopped", "quit", "gave up", stance=Stance.ENDED, confidence=0.8),
    rule("no longer allergic", "allergy", rf"^(?:{AM} no longer|{AM_NOT}(?=.* {ENDING}$)) allergic to (?P<value>.+)", things, "allergic", stance=Stance.ENDED,
         confidence=0.85),
)  # fmt: skip

_HEALTH = (
    rule("allergic to", "allergy", rf"^(?:{AM} {ADVERB}(?:\w+ly )?allergic to|{HAVE} {_STRONG}(?:severe |mild |bad |serious |terrible )?allergy to|my allergies are|"
         r"my body reacts badly to) (?P<value>.+)", things, "allerg", "reacts", confidence=0.9),
    rule("has an X allergy", "allergy", rf"^{HAVE} (?:an? |this )?(?:(?:severe|mild|bad|serious|terrible|strong|life-threatening|really bad) )*(?P<value>[\w-]+(?: [\w-]+)?) allerg(?:y|ies)\b",
         things, "allerg", confidence=0.85),
    rule("they are allergic to", "allergy", rf"^{WHO}(?: is|'s) (?:\w+ly |also )?allergic to (?P<value>.+)", things, "allergic", confidence=0.85),
    rule("ailment", "condition", rf"^(?:{HAVE} {ADVERB}|i've had |i've always had |{SELF} {ADVERB}(?:suffer|suffered) from |{AM} {ADVERB}(?:suffering from|living with|diagnosed with|"
         r"dealing with) |(?:i was|i've been|i got|i have been) (?:just |recently )?diagnosed with |i live with )(?P<value>.+)", ailment, "have", "'ve", "suffer", "living",
         "diagnosed", "live with", "dealing", "had", confidence=0.85),
    rule("is diabetic", "condition", rf"^{AM} {ADVERB}(?P<value>diabetic|asthmatic|pregnant|colou?r[- ]?blind|deaf|blind|dyslexic|autistic|epileptic|an insomniac|claustrophobic|"
         r"lactose[- ]intolerant|gluten[- ]intolerant|anemic|anaemic|celiac|coeliac|hard of hearing|short-sighted|near-?sighted|far-?sighted|neurodivergent|bipolar|"
         r"immunocompromised|left-handed)\b", phrase, "i am", "i'm", "im ", confidence=0.85),
    rule("afraid of", "condition", rf"^{AM} {ADVERB}(?:afraid|scared|terrified|frightened) of (?P<value>heights|flying|spiders|snakes|the dark|water|needles|dogs|clowns|crowds|"
         r"thunder(?:storms)?|open water|elevators|public speaking|deep water|enclosed spaces)\b", lambda words: (f"fear of {words}",), "afraid", "scared", "terrified",
         "frightened", confidence=0.8),
)  # fmt: skip

_DIETS = (
    rule("is vegan", "diet", rf"^(?:{AM} {ADVERB}(?:an? |on an? |doing |eating )?(?:strict |lifelong |committed )?(?P<value>{_DIET})(?=$|[,.;]| (?:and|now|diet|since|for|by|who|but|these|person)\b)"
         r")", phrase, "i am", "i'm", "im ", "we're", "we are", confidence=0.9, when=When.SINCE),
    rule("went vegan", "diet", rf"^(?:{SELF}|i've|i have|we've) {ADVERB}(?:went|gone|turned|became|become|been|started eating|switched to|started) (?:an? |being )?(?P<value>{_DIET})\b", phrase, "went",
         "gone", "turned", "became", "become", "been", "started", "switched", confidence=0.85, when=When.SINCE),
    rule("follows a diet", "diet", rf"^{SELF} {ADVERB}(?:follow|eat|keep|stick to|maintain|am on|started) (?:an? |to a )?(?:strict |mostly |only |fully |completely )*(?P<value>{_DIET})(?: diet)?\b",
         phrase, "follow", "eat", "keep", "stick", "maintain", "started", " on ", confidence=0.85),
    rule("they are vegan", "diet", rf"^{WHO}(?: is|'s) (?:an? |also )?(?:strict )?(?P<value>{_DIET})(?=$|[,.;]| (?:and|now)\b)", phrase, " is ", "'s ", confidence=0.75),
    rule("does not eat", "avoids", rf"^{SELF} (?:(?:really |usually |generally )?(?:{NOT}|never|can't|cannot|won't|will not)|(?:try|prefer) not to) (?:\w+ )??(?:eat|drink|consume|have) "
         r"(?:any (?:type of |kind of )?|much |a lot of )?(?P<value>.+)", things, "eat", "drink", "consume", confidence=0.8, guard=lambda found: not re.search(r"\bhave\b", found[0]) and
         not re.search(r"\b(?:breakfast|lunch|dinner|yet|today|until|enough|yesterday)\b", found["value"])),
)  # fmt: skip

_LIKING = (
    rule("favourite is", lambda found: favourite(found["kind"]), r"^(?:my|our) (?:all[- ]time |personal |absolute |current )?(?:favou?rite|fave|fav|go-to) (?P<kind>[\w-]+(?: [\w-]+){0,2}?) "
         r"(?:is|has to be|would be|has always been|would have to be)(?: definitely| probably| still| always| currently| now| either|:)* (?P<value>.+)", things, "fav", "go-to", single=True, confidence=0.85),
    rule("favourites of a kind are", lambda found: favourite(found["kind"]), r"^(?:(?:one|some|two|a few) of )?(?:my|our) (?:all[- ]time |personal |absolute |current )?(?:favou?rite|fave|fav|go-to) (?P<kind>[\w-]+(?: [\w-]+){0,2}?) "
         r"(?:is|are|include|would be)(?: definitely| probably| still| always| currently| now| either|:)* (?P<value>.+)", things, "fav", "go-to", confidence=0.85),
    rule("favourites are", "likes", r"^(?:my|some of my) (?:all[- ]time )?(?:favou?rites?|faves?)(?: (?:is|are|include|has to be|would be))(?: definitely| probably| still| always)* (?P<value>.+)",
         things, "fav", confidence=0.75),
    rule("is my favourite", lambda found: favourite(found["kind"] or ""), r"^(?P<value>[\w' &-]{2,60}?)(?: is|'s| are| has always been| have always been| will always be) (?:also |still |definitely |probably |by far |always )*"
         r"(?:one of )?my (?:all[- ]time |personal |absolute |current )?(?:favou?rite|fave|favou?rites)(?: (?P<kind>[\w-]+(?: [\w-]+)?))?(?=$|[,.]| (?:of|and|to|for|in|because)\b)", things, "fav", confidence=0.75),
    rule("fan of", "likes", rf"^{AM} {ADVERB}an? {_STRONG}(?:(?:lifelong|avid|devoted|die-?hard|longtime|massive|total) )?(?:fan|lover|devotee|admirer) of (?P<value>.+)", things, "fan of", "lover of", "devotee",
         "admirer", confidence=0.85),
    rule("a jazz fan", "likes", rf"^{AM} {ADVERB}an? {_STRONG}(?:(?:lifelong|avid|devoted|die-?hard|longtime|massive|total) )?(?P<value>[\w-]+(?: [\w-]+)?) (?:fan|lover|enthusiast|buff|aficionado|addict|nerd|geek)(?=$|[,.]| (?:and|myself|so|at)\b)",
         things, "fan", "lover", "enthusiast", "buff", "aficionado", "addict", "nerd", "geek", confidence=0.75),
    rule("into", "likes", rf"^{AM} {ADVERB}(?:into|fond of|crazy about|mad about|obsessed with|hooked on|addicted to|a sucker for|partial to|in love with) (?P<value>.+)", things,
         "into", "fond", "about", "obsessed", "hooked", "addicted", "sucker", "partial", "in love", confidence=0.75),
    rule("interested in", "interest", rf"^(?:{AM} {ADVERB}(?:interested in|passionate about|fascinated by|keen on)|i've (?:always |recently )?(?:been|become|gotten) (?:really |very |always )?(?:interested in|passionate about|into|fascinated by|keen on)|"
         rf"{HAVE} a (?:\w+ )?(?:passion|love|soft spot|interest|weakness) (?:for|in|of)) (?P<value>.+)", interests, "interested", "passion", "fascinated", "keen", "into", "love",
         "soft spot", "weakness", confidence=0.8),
    rule("likes to", "likes", rf"^{SELF} {ADVERB}{_LIKE} to (?P<value>(?!be\b|know\b|see\b|hear\b|think\b|say\b|have\b|point\b|believe\b|thank\b|ask\b|add\b|tell\b|get\b|keep\b|make\b|imagine\b|call\b|do\b|feel\b)\w+\b.*)",
         deeds, "like", "love", "enjoy", "adore", confidence=0.75),
    rule("likes", "likes", rf"^{SELF} {ADVERB}{_LIKE} (?!to\b)(?P<value>.+)", things, "like", "love", "enjoy", "adore", confidence=0.8),
    rule("has always loved", "likes", rf"^(?:i've|i have) always (?:really )?(?:liked|loved|enjoyed|adored) (?P<value>.+)", things, "always", confidence=0.75),
    rule("they like", "likes", rf"^{WHO} (?:really |absolutely |also |just )?(?:likes|loves|enjoys|adores) (?:to )?(?P<value>.+)", things, "likes", "loves", "enjoys", "adores", confidence=0.7),
)  # fmt: skip

_DISLIKING = (
    rule("prefers not to", "prefers", rf"^(?:{SELF} (?:would |'d )?{ADVERB}|i'd )(?:prefer|rather) (?P<value>not (?:to )?.+)", stated, "prefer", "rather", confidence=0.85),
    rule("prefers to avoid", "avoids", rf"^(?:{SELF} (?:would |'d )?{ADVERB}|i'd )(?:(?:prefer|like|try|need|have|tend) to |rather )?{ADVERB}(?:avoid|stay away from|steer clear of|refuse|refrain from) "
         r"(?:to )?(?P<value>.+)", things, "avoid", "away from", "clear of", "refuse", "refrain", confidence=0.85),
    rule("will not", "avoids", rf"^{SELF} (?:{NOT}|never|won't|will not) (?:\w+ )??(?:watch|use|buy|wear|read|play|listen to|fly with|travel by|book|visit|shop at) (?:any |an? )?(?P<value>.+)", things, "watch", "use", "buy",
         "wear", "read", "play", "listen", "fly", "travel", "book", "visit", "shop", confidence=0.7, guard=lambda found: len(found["value"]) > 6 and not found.string[found.start():found.start("value")].lower().endswith(("a ", "the "))),
    rule("only", "prefers", rf"^{SELF} (?P<value>(?:only|exclusively) (?:ever )?(?:watch|use|eat|drink|buy|book|wear|read|play|listen to|travel|fly|enjoy|shop|stay|support|drive|date|cook|take)\b.+)", stated, "only", "exclusively",
         confidence=0.8),
    rule("can only", "prefers", rf"^{SELF} (?P<value>can only (?:watch|use|eat|drink|wear)\b.+)", stated, "can only", confidence=0.75),
    rule("dislikes", "dislikes", rf"^{SELF} {ADVERB}(?:{_HATE}|{NOT} {ADVERB}(?:like|enjoy|love|care for|fancy|appreciate)) (?:to |it when )?(?P<value>.+)", things, "dislike", "hate", "detest", "despise", "loathe", "stand",
         "bear", "tolerate", "like", "enjoy", "love", "care for", "fancy", "appreciate", confidence=0.8),
    rule("not a fan", "dislikes", rf"^(?:{AM_NOT} {ADVERB}(?:an? )?{_STRONG}(?:into|fan of|interested in|fond of|keen on|comfortable with|crazy about)|{AM} {ADVERB}(?:uncomfortable with|against|opposed to|put off by)|"
         rf"(?:{HAVE}|i have) {_STRONG}(?:interest in|aversion to|dislike (?:for|of)|distaste for|hatred of|objection to|stance against|problem with|phobia of|fear of)) (?P<value>.+)", things, "not", "'m", "am ",
         "have", "uncomfortable", "opposed", confidence=0.8, guard=lambda found: re.search(r"\b(?:not|no|un|against|opposed|put off|aversion|dislike|distaste|hatred|objection)|uncomf|phobia|fear", found[0], re.IGNORECASE)
         is not None and not re.search(r"have (?!no\b)(?:\w+ )*interest in|have (?:\w+ )*no (?:\w+ )*(?:problem|objection|fear|dislike)", found[0], re.IGNORECASE)),
    rule("not my thing", "dislikes", r"^(?P<value>[\w' -]{3,60}?) (?:isn't|is not|aren't|are not|was never|has never been|have never been|just isn't|really isn't) (?:really |exactly |quite )?my (?:thing|cup of tea|style|taste|jam)\b",
         things, "my thing", "cup of tea", "my style", "my taste", "my jam", confidence=0.75),
    rule("they dislike", "dislikes", rf"^{WHO} (?:really |absolutely )?(?:hates|dislikes|can't stand|doesn't like|detests) (?:to )?(?P<value>.+)", things, "hates", "dislikes", "stand", "doesn't like", "detests", confidence=0.7),
    rule("prefers", "prefers", rf"^(?:{SELF} (?:would |'d )?{ADVERB}prefer|i'd prefer) (?!not\b|it if\b|if\b)(?P<value>.+)", whole, "prefer", confidence=0.8),
    rule("has a preference for", "prefers", rf"^{HAVE} {_STRONG}preference for (?P<value>.+)", things, "preference", confidence=0.85),
    rule("rather", "prefers", rf"^(?:i'd|i would) (?:much )?rather (?!not\b|you\b|he\b|she\b|they\b|die\b|be\b|see\b|know\b|hear\b)(?P<value>.+ than .+)", whole, "rather", confidence=0.7),
)  # fmt: skip

_DOING = (
    rule("hobby is", "interest", r"^(?:(?:one of )?my (?:main |favou?rite |biggest |other |new |only )*(?:hobby|hobbies|pastimes?|passions?|interests?)|what i do for fun)(?: is| are| include|:| has always been)(?: to| probably| currently| now)* (?P<value>.+)",
         things, "hobb", "pastime", "passion", "interest", "for fun", confidence=0.85),
    rule("plays", "interest", rf"^(?:{SELF} {ADVERB}(?:play|practi[cs]e)|{AM} {ADVERB}(?:learning to play|learning|practi[cs]ing|playing)|(?:i've|i have) (?:been )?(?:playing|played|started playing|learning)|i (?:just |recently )?started (?:playing|learning)) "
         rf"(?P<value>{_GAMES}(?:,? (?:and|&) {_GAMES})?)\b", things, "play", "practi", "learning", confidence=0.8),
    rule("does yoga", "interest", rf"^(?:{SELF} {ADVERB}(?:do|practi[cs]e|go|took up|take|teach|have taken up|started|love|got into|take (?:lessons|classes) in)|{AM} {ADVERB}(?:doing|taking up|going|getting into|practi[cs]ing)|(?:i've|i have) {ADVERB}(?:taken up|started|been doing|"
         rf"been practi[cs]ing|been|gotten into|got into)) (?:some |a bit of |a lot of )?(?P<value>{_PURSUITS}(?: and {_PURSUITS})?)\b", things, "do ", "practi", "go ", "took up", "take", "taken", "start", "doing", "going", "been", "got", "teach", "getting",
         confidence=0.75),
    rule("collects", "interest", rf"^(?:{SELF} {ADVERB}collect|{AM} {ADVERB}collecting|i've been collecting) (?P<value>.+)", lambda words: tuple(f"collecting {value}" for value in things(words)), "collect", confidence=0.8),
    rule("owns", "possession", rf"^(?:{SELF} {ADVERB}(?:own|drive|ride)|{HAVE} {ADVERB}(?:bought |purchased )?|{SELF} (?:just |recently )*(?:bought|purchased|got)) (?P<value>(?:an?|my|our|one|two|three|\d) .+)", belonging, "own", "drive", "ride", "have", "'ve", "bought",
         "purchased", "got", confidence=0.75),
    rule("my car is a", "possession", r"^(?:my|our) (?:car|bike|motorcycle|laptop|phone|camera|guitar|piano|motorbike) is an? (?P<value>.+)", phrase, "car", "bike", "motor", "laptop", "phone", "camera", "guitar", "piano", confidence=0.75,
         guard=lambda found: re.search(r"[A-Z\d]", found["value"]) is not None),
    rule("often", "habit", rf"^{SELF} {ADVERB}(?P<value>(?!am\b|have to\b|need\b|want\b|think\b|feel\b|see\b|hear\b|know\b|say\b|tell\b|talk to you\b)[a-z]+ .{{0,70}}?\b(?:{OFTEN}|on {WEEKDAYS}(?:,? (?:and )?{WEEKDAYS})*|every (?:day|morning|evening|night|week|weekend|"
         r"month|year|summer|winter)|daily|weekly))(?=$|[,.]| (?:and|before|after|with|at|to|in|because|since)\b)", whole, "every", "each", "times", "once", "twice", "days", "daily", "weekly", confidence=0.7,
         guard=lambda found: re.match(r"(?:\w+ed|got|went|had|was|were|did|saw|said|told|could|would|should|will|can|must|wish|hope|love|hate|like|just|never)\b", found["value"], re.IGNORECASE) is None),
    rule("usually", "habit", rf"^{SELF} (?:usually|typically|normally|generally|tend to) (?P<value>(?!am\b|have to\b|need\b|want\b|think\b|feel\b|see\b|hear\b|know\b|say\b|prefer|like\b|love\b|enjoy\b|find\b|avoid\b|just\b|try\b|don't\b|do not\b|agree\b|get (?!up|home|to work)|have a hard|have trouble)[a-z]+ .+)",
         deeds, "usually", "typically", "normally", "generally", "tend to", confidence=0.7, guard=lambda found: re.match(r"\w+ed\b", found["value"]) is None),
    rule("every morning", "habit", rf"^(?P<value>(?:every (?:single )?(?:day|morning|evening|night|week|weekend|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|on (?:mon|tues|wednes|thurs|fri|satur|sun)days),? (?:i|we) (?!am\b|'|was\b|were\b|had\b|will\b|would\b|can\b|see\b|think\b|feel\b|hear\b|have to\b|need\b)[a-z]+(?<!ed) .+)",
         lambda words: whole(re.sub(r",? (?:i|we) ", ": ", words, count=1, flags=re.IGNORECASE)), "every", "days", confidence=0.65),
)  # fmt: skip


_KIND_ENDS = re.compile(r"\b(?:when|to|for|in|of|at|on|so|right|and|or|about|from|you|as|with|that|if|ever|is|are|now|by)\b")


def favourite(kind: str) -> str:
    """The attribute for a favourite of a kind; without a kind it is just liked."""
    words = _KIND_ENDS.split(kind.lower())[0].split()
    if not words or words[0] in {"of", "and", "to", "for", "in", "thing", "things", "part", "parts", "one", "ones"} or words[-1] in {"thing", "things", "part", "parts", "person", "way"}:
        return "likes"
    if words[-1].endswith("s") and not words[-1].endswith(("ss", "us", "is", "series")):
        words[-1] = words[-1][:-3] + "y" if words[-1].endswith("ies") and words[-1] != "movies" else words[-1][:-1]
    return "favorite_" + "_".join(words).replace("-", "_").replace("colour", "color").replace("dishe", "dish")


RULES = _GONE + _HEALTH + _DIETS + _DISLIKING + _LIKING + _DOING
