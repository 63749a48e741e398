"""English words by what they stand for: persons around somebody, work, subjects, languages, techniques, belongings."""

from __future__ import annotations

import re
from collections.abc import Iterable

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
            budgie canary ferret lizard snake gecko parakeet cockatiel poodle labrador beagle corgi dachshund
            golden_retriever terrier bulldog""",
    }.items()
    for entry in nouns.split()
    for word, noun in [(entry.split("=")[0], entry.split("=")[-1])]
}
"""A noun as it is said: the attribute of its owner, and the noun that names the person in a subject."""

MALE = frozenset(
    """husband boyfriend fiancé father son brother stepbrother half-brother grandfather grandson uncle nephew
    father-in-law brother-in-law son-in-law stepfather stepson""".split()
)
FEMALE = frozenset(
    """wife girlfriend fiancée mother daughter sister stepsister half-sister grandmother granddaughter aunt niece
    mother-in-law sister-in-law daughter-in-law stepmother stepdaughter""".split()
)

OCCUPATIONS = frozenset(
    """accountant activist actor actress actuary administrator adviser advisor agent agronomist analyst anchor
    anesthesiologist animator announcer anthropologist apprentice archaeologist architect archivist artist assistant
    astronaut astronomer astrophysicist attorney auctioneer auditor author baker banker barber barista bartender
    beautician biochemist biologist blacksmith blogger bodyguard bookkeeper bookseller botanist brewer bricklayer
    broadcaster broker builder butcher butler buyer cardiologist caregiver carer caretaker carpenter cartographer
    cartoonist cashier caterer cellist ceo cfo chancellor chaplain chauffeur chef chemist chiropractor choreographer
    cinematographer clerk clinician clown co-founder coach cobbler coder cofounder columnist comedian commander
    composer concierge conductor conservationist consultant contractor controller coo cook coordinator copywriter
    coroner counsellor counselor courier creator criminologist critic cto curator custodian dancer dealer dean
    dentist dermatologist designer detective developer diplomat director dispatcher diver dj doctor doorman driver
    drummer ecologist economist editor educator electrician engineer entertainer entomologist entrepreneur
    epidemiologist estimator executive farmer filmmaker financier firefighter fireman fisherman florist foreman
    founder freelancer freshman gardener geneticist geographer geologist goldsmith groomer guard guide guitarist
    gynecologist hairdresser hairstylist handyman hematologist historian homemaker housewife hygienist illustrator
    immunologist influencer inspector instructor intern interpreter inventor investigator investor janitor jeweler
    jeweller joiner journalist judge lab-technician laborer landlord landscaper lawyer lead lecturer librarian
    lifeguard linguist locksmith logistician machinist magician maid manager manicurist mason masseur masseuse
    mathematician mechanic mediator merchandiser merchant meteorologist microbiologist midwife miner minister model
    musician nanny nephrologist neurologist neuroscientist neurosurgeon novelist nun nurse nutritionist officer
    oncologist operator optician optometrist orthodontist osteopath owner painter paleontologist paralegal paramedic
    pastor pathologist pediatrician pharmacist philosopher photographer physician physicist physiotherapist pianist
    pilot planner playwright plumber podcaster poet policeman policewoman politician postdoc postman potter preacher
    president priest principal producer professor programmer prosecutor psychiatrist psychologist psychotherapist
    publicist publisher rabbi radiologist ranger realtor receptionist recruiter referee reporter representative
    researcher rigger roofer sailor salesman salesperson saleswoman scholar scientist screenwriter scrum-master
    sculptor seamstress secretary senator sergeant shepherd shopkeeper singer sociologist soldier solicitor
    songwriter sophomore specialist statistician stenographer steward stewardess stockbroker streamer student
    stylist superintendent supervisor surgeon surveyor tailor teacher technician technologist telemarketer therapist
    trader trainee trainer translator treasurer trucker tutor undergraduate undertaker underwriter urologist usher
    vet veterinarian vicar videographer violinist vlogger vocalist vp waiter waitress warden watchmaker weaver
    webmaster welder woodworker worker writer youtuber zookeeper zoologist""".split()
)
"""The last words of what somebody is by profession; what anybody can call themselves in passing is left out."""

NOT_OCCUPATIONS = re.compile(
    r"\b(?:dog|cat|pet|home|house|car|proud|happy|hard|good|bad|great|terrible|better|best|worst|slow|fast|quick|safe|"
    r"early|late|team|real|tough|harsh|huge|big|avid|keen|amateur|hobby|natural|born|decent|lousy|careful|nervous|"
    r"visual|eternal|lifelong|fellow|role|free|public|own|private|business|horrible|total|complete|crappy|frequent|"
    r"reasonable|double|lucky|terrific|regular|fine|poor|people|hopeless|active|perpetual|sloppy)\b.*\b(?:owner|worker|"
    r"driver|writer|cook|dancer|singer|agent|model|judge|student|artist|critic|guard|buyer|planner|teacher|lead|coach|"
    r"investor|actor|actress|author|director|minister|officer|builder|manager|painter|poet|philosopher|liar|boss|"
    r"magician|comedian|guide|detective|dealer|musician|photographer|gardener|baker|doctor|scientist|friend)\b",
    re.IGNORECASE,
)
_BARE = frozenset("owner worker model lead guard judge agent anchor critic guide minister officer buyer driver".split())


def occupation(words: str) -> bool:
    """Whether the words name an occupation."""
    last = words.rpartition(" ")[2].lower()
    plain = last.removesuffix("s") if last.endswith("s") and last not in OCCUPATIONS else last
    if plain not in OCCUPATIONS or (plain in _BARE and " " not in words):
        return False
    return NOT_OCCUPATIONS.search(words) is None


STUDIES = re.compile(
    r"\b(?:\w+ology|\w+onomics|\w+onomy|\w*chemistry|\w*physics|\w+graphy|math(?:s|ematics)?|statistics|engineering|"
    r"(?:computer |data |political |social |environmental |food |sport |sports )?sciences?|law|medicine|history|"
    r"(?:art|fine arts?|performing arts|liberal arts|arts)|literature|english|journalism|nursing|philosophy|"
    r"architecture|business(?: administration)?|finance|accounting|marketing|management|education|design|music|"
    r"film|drama|theatre|theater|linguistics|theology|dentistry|pharmacy|agriculture|international relations|"
    r"communications?|(?:public|human) (?:policy|health|relations|resources)|robotics|cybersecurity|informatics|"
    r"creative writing|fashion|hospitality|social work|religion|classics|humanities|acting)$",
    re.IGNORECASE,
)

NATIONALITIES = frozenset(
    """afghan albanian algerian american argentinian argentine armenian australian austrian azerbaijani bangladeshi
    belarusian belgian bolivian bosnian brazilian british bulgarian cambodian cameroonian canadian chilean chinese
    colombian congolese croatian cuban cypriot czech danish dominican dutch ecuadorian egyptian emirati english
    eritrean estonian ethiopian fijian filipino finnish french georgian german ghanaian greek guatemalan haitian
    honduran hungarian icelandic indian indonesian iranian iraqi irish israeli italian ivorian jamaican japanese
    jordanian kazakh kenyan korean kuwaiti latvian lebanese liberian libyan lithuanian malaysian maltese mexican
    moldovan mongolian moroccan nepalese nepali nicaraguan nigerian norwegian pakistani palestinian panamanian
    paraguayan persian peruvian polish portuguese qatari romanian russian rwandan salvadoran saudi scottish senegalese
    serbian singaporean slovak slovakian slovenian somali spanish sudanese swedish swiss syrian taiwanese tanzanian
    thai tunisian turkish ugandan ukrainian uruguayan uzbek venezuelan vietnamese welsh zambian zimbabwean""".split()
)

LANGUAGES = frozenset(
    """afrikaans albanian amharic arabic armenian basque bengali bosnian bulgarian burmese cantonese catalan chinese
    croatian czech danish dari dutch english estonian esperanto farsi filipino finnish flemish french gaelic galician
    georgian german greek gujarati hausa hebrew hindi hungarian icelandic igbo indonesian irish italian japanese
    kannada kazakh khmer korean kurdish lao latin latvian lithuanian luxembourgish macedonian malay malayalam maltese
    mandarin marathi mongolian nepali norwegian pashto persian polish portuguese punjabi quechua romanian russian
    serbian sinhala slovak slovenian somali spanish swahili swedish tagalog tamil telugu thai tibetan turkish
    ukrainian urdu uzbek vietnamese welsh xhosa yiddish yoruba zulu""".split()
) | {"sign language"}

RELIGIONS = re.compile(
    r"(?:a |an )?(?:\w+ )?(?P<value>muslim|christian|buddhist|atheist|agnostic|jewish|hindu|catholic|protestant|sikh|"
    r"mormon|lutheran|baptist|methodist|quaker|taoist|jain|pagan)$",
    re.IGNORECASE,
)

TECHNOLOGY = re.compile(
    r"(?<![\w.])(?:(?:python|java|javascript|typescript|rust|golang|kotlin|swift|scala|ruby|php|perl|haskell|elixir|"
    r"erlang|clojure|julia|matlab|fortran|cobol|dart|lua|zig|ocaml|objective-c|visual basic|assembly|bash|powershell|"
    r"html5?|css3?|sass|sql|graphql|grpc|rest apis?|react(?: native)?|angular|vue|svelte|solidjs|next\.?js|nuxt|"
    r"node(?:\.?js)?|deno|bun|express|nestjs|django|flask|fastapi|rails|ruby on rails|laravel|symfony|spring(?: boot)?|"
    r"\.net(?: core)?|asp\.net|blazor|flutter|ionic|electron|tauri|jquery|bootstrap|tailwind(?: ?css)?|redux|webpack|"
    r"vite|postgres(?:ql)?|mysql|mariadb|sqlite|oracle|mongodb|redis|cassandra|dynamodb|elasticsearch|opensearch|neo4j|"
    r"clickhouse|duckdb|snowflake|bigquery|redshift|databricks|spark|hadoop|kafka|rabbitmq|nats|airflow|dbt|docker|"
    r"kubernetes|k8s|podman|helm|terraform|ansible|pulumi|jenkins|github actions|gitlab(?: ci)?|circleci|argocd|aws|"
    r"gcp|google cloud|azure|heroku|vercel|netlify|cloudflare|supabase|firebase|linux|ubuntu|debian|arch linux|fedora|"
    r"nixos|nginx|apache|caddy|git|github|bitbucket|vim|neovim|emacs|vs ?code|visual studio|intellij|pycharm|webstorm|"
    r"jupyter|xcode|android studio|pandas|numpy|polars|scipy|scikit-learn|sklearn|pytorch|tensorflow|keras|jax|"
    r"hugging ?face|langchain|llamaindex|opencv|cuda|unity|unreal(?: engine)?|godot|blender|figma|sketch|photoshop|"
    r"illustrator|autocad|solidworks|jira|confluence|notion|obsidian|trello|asana|linear|slack|excel|tableau|power ?bi|"
    r"looker|grafana|prometheus|datadog|sentry|stripe|shopify|wordpress|salesforce|sap|arduino|raspberry pi|esp32|"
    r"fpga|verilog|vhdl|ros2?|pytest|jest|cypress|playwright|selenium|junit|maven|gradle|npm|pnpm|yarn|poetry|uv|"
    r"conda|cmake|bazel|pydantic|sqlalchemy|prisma|celery|htmx|wasm|webassembly|solidity)(?: \d[\d.]*)?"
    r"|c\+\+(?:\d\d)?|c#|f#|(?-i:R|C|Go|Vue|Less))(?![\w+#]|'s|-)",
    re.IGNORECASE,
)

BELONGINGS = frozenset(
    """car bike bicycle motorbike motorcycle scooter truck van pickup suv jeep sedan minivan boat yacht sailboat kayak
    canoe house apartment flat condo cottage cabin farm garden greenhouse piano guitar violin cello drum drums keyboard
    ukulele saxophone flute telescope camera drone laptop macbook desktop pc computer tablet ipad iphone smartphone
    phone console printer turntable kindle e-reader smartwatch treadmill bookstore bookshop business""".split()
)
BRANDS = frozenset(
    """tesla toyota honda bmw volkswagen volvo ford audi mercedes subaru prius vespa mazda hyundai kia nissan fiat
    skoda renault peugeot porsche chevrolet jeep lexus yamaha kawasaki ducati harley-davidson playstation xbox nintendo
    macbook iphone ipad thinkpad canon nikon fender gibson steinway""".split()
)

AILMENTS = re.compile(
    r"\b(?:diabetes|asthma|adhd|autism|anxiety|depression|insomnia|arthritis|migraines?|epilepsy|anemia|anaemia|"
    r"eczema|psoriasis|hypertension|high blood pressure|low blood pressure|high cholesterol|hay fever|celiac disease|"
    r"coeliac disease|crohn'?s(?: disease)?|ibs|reflux|gerd|scoliosis|sciatica|tinnitus|vertigo|glaucoma|cataracts|"
    r"dyslexia|ptsd|ocd|bipolar disorder|lupus|fibromyalgia|endometriosis|pcos|hypothyroidism|osteoporosis|gout|"
    r"sleep apnea|(?:sensitive|dry|oily) skin|(?:bad|weak) (?:knees?|back)|"
    r"(?:chronic|back|knee|joint|respiratory|heart|kidney|thyroid|hearing|skin) (?:\w+ )?"
    r"(?:pain|issues?|problems?|condition|disease|loss|murmur)|cancer|"
    r"color ?blindness|motion sickness|seasickness|(?:a |an )?(?:\w+ )?(?:phobia|fear) of [\w ]+|claustrophobia|"
    r"arachnophobia|acrophobia|lactose intolerance|(?:a )?gluten (?:intolerance|sensitivity)|a pacemaker)\b",
    re.IGNORECASE,
)


def either(words: Iterable[str]) -> str:
    """A pattern for any of the words, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word)))
