"""English words by meaning: relatives, work, health, technologies."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hybrid_memory.text.patterns import lazy

KIN: dict[str, tuple[str, str]] = {
    word.replace("_", " "): (attribute, noun.replace("_", " "))
    for attribute, nouns in {
        "partner": "wife husband partner spouse girlfriend boyfriend fiancé fiancée fiance=fiancé fiancee=fiancée",
        "mother": "mother mom=mother mum=mother mama=mother mommy=mother",
        "father": "father dad=father papa=father daddy=father",
        "parent": "parent",
        "child": "son daughter child kid=child baby=child toddler=child stepson stepdaughter",
        "sibling": "brother sister sibling stepbrother stepsister half-brother half-sister",
        "relative": """grandmother grandma=grandmother granny=grandmother nana=grandmother grandfather
            grandpa=grandfather granddad=grandfather grandson granddaughter uncle aunt auntie=aunt cousin nephew niece
            mother-in-law father-in-law brother-in-law sister-in-law son-in-law daughter-in-law stepmother
            stepmom=stepmother stepfather stepdad=stepfather""",
        "friend": "friend buddy=friend pal=friend bestie=friend",
        "colleague": "colleague coworker=colleague co-worker=colleague teammate=colleague",
        "boss": "boss manager=boss supervisor=boss",
        "neighbour": "neighbour neighbor=neighbour",
        "roommate": "roommate flatmate=roommate housemate=roommate",
        "pet": """dog cat puppy=dog kitten=cat parrot hamster rabbit bunny=rabbit goldfish horse pony turtle tortoise
            budgie canary ferret lizard snake gecko parakeet""",
    }.items()
    for entry in nouns.split()
    for word, noun in [(entry.split("=")[0], entry.split("=")[-1])]
}
"""A noun as written: the attribute of the related person, and the noun used in a subject."""

MALE = frozenset(
    """husband boyfriend fiancé father son brother stepbrother half-brother grandfather grandson uncle nephew
    father-in-law brother-in-law son-in-law stepfather stepson""".split()
)
FEMALE = frozenset(
    """wife girlfriend fiancée mother daughter sister stepsister half-sister grandmother granddaughter aunt niece
    mother-in-law sister-in-law daughter-in-law stepmother stepdaughter""".split()
)

OCCUPATION = lazy(
    r"(?!.*\b(?:dog|cat|pet|home|car|proud|happy|hard|good|bad|great|better|best|worst|slow|fast|early|late|team|avid|"
    r"amateur|natural|born|lousy|lifelong|role|total|frequent|regular)\b)(?:[\w-]+ )*?(?:\w*(?:ologist|ographer|"
    r"ematician|trician|nician|ysicist|chemist|economist|therapist|scientist|engineer|developer|designer|programmer|"
    r"teacher|driver|keeper|nurse|doctor|surgeon|dentist|physician|pharmacist|paramedic|midwife|vet|veterinarian|"
    r"lawyer|attorney|solicitor|paralegal|accountant|auditor|analyst|architect|consultant|manager|director|assistant|"
    r"secretary|receptionist|clerk|officer|detective|soldier|sailor|pilot|steward(?:ess)?|baker|butcher|barber|chef|"
    r"waiter|waitress|barista|bartender|hairdresser|carpenter|plumber|electrician|mechanic|welder|mason|bricklayer|"
    r"painter|gardener|farmer|fisherman|firefighter|florist|tailor|journalist|reporter|editor|author|novelist|poet|"
    r"translator|interpreter|librarian|professor|lecturer|tutor|researcher|student|intern|apprentice|trainee|artist|"
    r"illustrator|animator|actor|actress|director|musician|violinist|pianist|drummer|singer|dancer|composer|"
    r"photographer|filmmaker|producer|comedian|priest|pastor|rabbi|nun|judge|diplomat|politician|banker|broker|trader|"
    r"realtor|salesman|saleswoman|cashier|janitor|cleaner|nanny|caregiver|housewife|homemaker|social worker|"
    r"entrepreneur|founder|freelancer|creator|masseu(?:r|se)|ceo|cto|cfo))(?: of .*)?",
    re.IGNORECASE,
)
"""Professions, except those that anyone may call themselves in passing."""

TECHNOLOGY = lazy(
    r"(?<![\w.])(?:(?:python|java|javascript|typescript|rust|golang|kotlin|swift|scala|ruby|php|perl|haskell|elixir|"
    r"erlang|clojure|julia|matlab|dart|lua|zig|bash|powershell|html5?|css3?|sql|graphql|react(?: native)?|angular|"
    r"vue|svelte|next\.?js|node(?:\.?js)?|deno|bun|express|nestjs|django|flask|fastapi|rails|laravel|spring(?: boot)?|"
    r"\.net(?: core)?|flutter|electron|tailwind(?: ?css)?|redux|webpack|vite|postgres(?:ql)?|mysql|mariadb|sqlite|"
    r"oracle|mongodb|redis|cassandra|dynamodb|elasticsearch|neo4j|clickhouse|duckdb|snowflake|bigquery|spark|hadoop|"
    r"kafka|rabbitmq|airflow|dbt|docker|kubernetes|k8s|podman|helm|terraform|ansible|jenkins|github actions|gitlab|"
    r"aws|gcp|google cloud|azure|heroku|vercel|netlify|fly\.io|hetzner|digitalocean|linode|cloudflare|supabase|"
    r"firebase|slack|jira|trello|linux|ubuntu|debian|fedora|nginx|git|github|vim|"
    r"neovim|emacs|vs ?code|intellij|pycharm|jupyter|xcode|pandas|numpy|polars|scipy|scikit-learn|pytorch|tensorflow|"
    r"keras|jax|langchain|llamaindex|unity|unreal(?: engine)?|godot|blender|figma|photoshop|autocad|excel|tableau|"
    r"power ?bi|grafana|wordpress|arduino|raspberry pi|pytest|jest|playwright|selenium|maven|gradle|npm|pnpm|poetry|"
    r"uv|conda|cmake|pydantic|sqlalchemy|celery)(?: \d[\d.]*)?|c\+\+(?:\d\d)?|c#|f#|(?-i:R|C|Go))(?![\w+#]|'s|-)",
    re.IGNORECASE,
)

AILMENTS = lazy(
    r"\b(?:diabetes|asthma|adhd|autism|anxiety|depression|insomnia|arthritis|migraines?|epilepsy|an(?:a?)emia|eczema|"
    r"psoriasis|hypertension|(?:high|low) blood pressure|high cholesterol|hay fever|co?eliac disease|crohn'?s|ibs|"
    r"reflux|scoliosis|sciatica|tinnitus|vertigo|glaucoma|dyslexia|ptsd|ocd|lupus|fibromyalgia|endometriosis|"
    r"hypothyroidism|osteoporosis|gout|sleep apnea|(?:chronic|back|knee|heart|kidney|thyroid|hearing) (?:\w+ )?(?:pain|"
    r"problems?|condition|disease|loss)|cancer|(?:lactose|gluten) intolerance|a pacemaker)\b",
    re.IGNORECASE,
)


def either(words: Iterable[str]) -> str:
    """A pattern for any of the words, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word)))
