"""Rules of English about health and what somebody eats."""

from __future__ import annotations

from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.english.kinds import ailment
from hybrid_memory.facts.rules.english.persons import WHO
from hybrid_memory.facts.rules.english.values import aversions, phrase, stated, things
from hybrid_memory.facts.rules.english.wording import ADVERB, AM, AM_NOT, ENDING, HAVE, NOT, SELF, STRONG, rule
from hybrid_memory.facts.rules.rule import When

_DIET = (
    r"(?:vegan|vegetarian|pescatarian|pescetarian|flexitarian|fruitarian|carnivore|keto|ketogenic|paleo|plant[- ]based|"
    r"gluten[- ]free|dairy[- ]free|lactose[- ]free|sugar[- ]free|low[- ]carb|low[- ]fat|low[- ]sodium|high[- ]protein|"
    r"mediterranean|halal|kosher|raw(?: food)?|whole30|organic|macrobiotic)"
)

GONE = (
    rule("no longer on a diet", "diet",
         rf"^(?:{AM} no longer|{AM_NOT}(?=.* {ENDING}$)) (?:an? |on an? )?(?P<value>{_DIET})(?: diet)?\b", phrase,
         "longer", "more", stance=Stance.ENDED, confidence=0.85),
    rule("stopped the diet", "diet", rf"^(?:{SELF}|i've) {ADVERB}(?:used to be|stopped being|quit being|quit|stopped|"
         rf"gave up) (?:an? |the |my )?(?P<value>{_DIET})(?: diet)?\b", phrase, "used to be", "stopped", "quit",
         "gave up", stance=Stance.ENDED, confidence=0.8),
    rule("no longer allergic", "allergy", rf"^(?:{AM} no longer|{AM_NOT}(?=.* {ENDING}$)) allergic to (?P<value>.+)",
         things, "allergic", stance=Stance.ENDED, confidence=0.85),
    rule("not allergic", "allergy", rf"^{AM_NOT} (?:actually |really |in fact )?allergic to (?!.*{ENDING}$|any)"
         r"(?P<value>.+?)(?: after all| at all)?$", things, "allergic", stance=Stance.WRONG, confidence=0.85),
)  # fmt: skip

HEALTH = (
    rule("allergic to", "allergy", rf"^(?:{AM} {ADVERB}(?:\w+ly )?allergic to|{HAVE} {STRONG}(?:severe |mild |bad |"
         r"serious |terrible )?allergy to|my allergies are|my body reacts badly to) (?P<value>.+)", things, "allerg",
         "reacts", confidence=0.9),
    rule("has an X allergy", "allergy", rf"^{HAVE} (?:an? |this )?(?:(?:severe|mild|bad|serious|terrible|strong|"
         r"life-threatening|really bad) )*(?P<value>(?!severe|mild|bad|serious|terrible|strong|an?\b|no\b)[\w-]+(?: "
         r"[\w-]+)?) allerg(?:y|ies)\b", things, "allerg", confidence=0.85),
    rule("they are allergic to", "allergy", rf"^{WHO}(?: is|'s) (?:\w+ly |also )?allergic to (?P<value>.+)", things,
         "allergic", confidence=0.85),
    rule("ailment", "condition", rf"^(?:{HAVE} {ADVERB}|i've had |i've always had |{SELF} {ADVERB}(?:suffer|suffered) "
         rf"from |{AM} {ADVERB}(?:suffering from|living with|diagnosed with|dealing with) |(?:i was|i've been|i got|i "
         r"have been) (?:just |recently )?diagnosed with |i live with )(?P<value>.+)", ailment, "have", "'ve", "suffer",
         "living", "diagnosed", "live with", "dealing", "had", confidence=0.85),
    rule("is diabetic", "condition", rf"^{AM} {ADVERB}(?P<value>diabetic|asthmatic|pregnant|colou?r[- ]?blind|deaf|"
         r"blind|dyslexic|autistic|epileptic|an insomniac|claustrophobic|lactose[- ]intolerant|gluten[- ]intolerant|"
         r"anemic|anaemic|celiac|coeliac|hard of hearing|short-sighted|near-?sighted|far-?sighted|neurodivergent|"
         r"bipolar|immunocompromised|left-handed)\b", phrase, "i am", "i'm", "im ", confidence=0.85),
    rule("takes medicine", "medicine", rf"^(?:{SELF} {ADVERB}(?:have to |need to |must )?(?:take|use|inject)|{AM} "
         rf"{ADVERB}(?:on|taking)) (?:my |some |a |an )?(?P<value>(?:[\w-]+ ){{0,2}}?(?:\w+(?:formin|statin|pril|"
         r"olol|sartan|prazole|cillin|oxetine|thyroxine|azepam|xaban)|insulin|antidepressants|antihistamines|"
         r"beta[- ]blockers|blood thinners|blood pressure (?:pills|tablets|medication|medicine)))\b", phrase, "take",
         "taking", "use", "inject", " on ", confidence=0.85),
    rule("uses a wheelchair", "accessibility", rf"^{SELF} {ADVERB}(?:have to |need to )?(?P<value>(?:use|need|wear|"
         r"rely on|depend on) (?:an? |my )?(?:wheelchair|walker|walking stick|cane|crutches|hearing aids?|screen "
         r"reader|guide dog|service dog|sign language))\b", stated, "use", "need", "wear", "rely", "depend",
         confidence=0.85),
    rule("afraid of", "condition", rf"^{AM} {ADVERB}(?:afraid|scared|terrified|frightened) of (?P<value>heights|flying|"
         r"spiders|snakes|the dark|water|needles|dogs|clowns|crowds|thunder(?:storms)?|open water|elevators|public "
         r"speaking|deep water|enclosed spaces)\b", lambda words: (f"fear of {words}",), "afraid", "scared",
         "terrified", "frightened", confidence=0.8),
)  # fmt: skip

DIETS = (
    rule("is vegan", "diet", rf"^(?:{AM} {ADVERB}(?:an? |on an? |doing |eating )?(?:strict |lifelong |committed "
         rf")?(?P<value>{_DIET})(?=$|[,.;]| (?:and|now|diet|since|for|by|who|but|these|person)\b))", phrase, "i am",
         "i'm", "im ", "we're", "we are", confidence=0.9, when=When.SINCE),
    rule("went vegan", "diet", rf"^(?:{SELF}|i've|i have|we've) {ADVERB}(?:went|gone|turned|became|become|been|started "
         rf"eating|switched to|started) (?:an? |being )?(?P<value>{_DIET})\b", phrase, "went", "gone", "turned",
         "became", "become", "been", "started", "switched", confidence=0.85, when=When.SINCE),
    rule("follows a diet", "diet", rf"^{SELF} {ADVERB}(?:follow|eat|keep|stick to|maintain|am on|started) (?:an? |to a "
         rf")?(?:strict |mostly |only |fully |completely )*(?P<value>{_DIET})(?: diet)?\b", phrase, "follow", "eat",
         "keep", "stick", "maintain", "started", " on ", confidence=0.85),
    rule("they are vegan", "diet",
         rf"^{WHO}(?: is|'s) (?:an? |also )?(?:strict )?(?P<value>{_DIET})(?=$|[,.;]| (?:and|now)\b)", phrase, " is ",
         "'s ", confidence=0.75),
    rule("does not eat", "avoids", rf"^{SELF} (?:(?:really |usually |generally )?(?:{NOT}|never|can't|cannot|won't|"
         r"will not)|(?:try|prefer) not to) (?:really |ever |usually |generally )?(?:eat|drink|consume) (?:any (?:type "
         r"of |kind of )?|much |a lot of )?(?P<value>(?!breakfast\b|lunch\b|dinner\b|enough\b|yet\b|today\b|until\b)"
         r".+)", aversions, "eat", "drink", "consume", confidence=0.8),
)  # fmt: skip

RULES = GONE + HEALTH + DIETS
