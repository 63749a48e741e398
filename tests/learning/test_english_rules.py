from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hybrid_memory import Category
from hybrid_memory.facts.rules.english import ENGLISH
from hybrid_memory.facts.rules.reading import RuleExtractor
from tests.learning.claims import Reader, listed

READER = Reader(RuleExtractor((ENGLISH,)), datetime(2025, 3, 12, 10, 0, tzinfo=UTC))
"""Reads what is said on a Wednesday."""

WHO_ONE_IS = [
    ("My name is Ingrid Sørensen.", "name=Ingrid Sørensen"),
    ("hey, my name's theo", "name=theo"),
    ("Hi, I'm Marcus, nice to meet you!", "name=Marcus"),
    ("My real name is Elizabeth, but everybody calls me Liz.", "nickname=Liz | name=Elizabeth"),
    ("You can call me Bob.", "nickname=Bob"),
    ("I'm 34 years old.", "age=34"),
    ("Hi, I'm Tom, a nurse from Leeds.", "name=Tom | hometown=Leeds | profession=nurse"),
    (
        "I'm Priya Rao, 34, product designer at a start-up called Ledgerly.",
        "name=Priya Rao | age=34 | profession=product designer | employer=Ledgerly",
    ),
    ("I'm Ben, the one who called yesterday from Leeds.", "name=Ben"),
    ("My name is Ana, 41, and a teacher.", "name=Ana | age=41 | profession=teacher"),
    ("im 29", "age=29"),
    ("I just turned forty-one.", "age=forty-one"),
    ("As a 52-year-old man I need more sleep.", "age=52"),
    ("My birthday is on March 3rd.", "birthday=March 3rd"),
    ("I was born on 17 June 1988 in Porto.", "birthday=17 June 1988"),
    ("I was born in Porto.", "hometown=Porto"),
    ("I'm originally from Porto, but I live in Utrecht.", "home=Utrecht | hometown=Porto"),
    ("I grew up in a small village near Salzburg.", "hometown=Salzburg"),
    ("i live in lisbon", "home=lisbon"),
    ("These days we live in the Netherlands.", "home=Netherlands"),
    ("I'm based in Kansas City.", "home=Kansas City"),
    ("We moved! New flat in Braga, 2nd floor.", "home=Braga"),
    ("We moved from MySQL to Postgres.", "technology=MySQL ended | technology=Postgres"),
    ("We moved from Fly.io to Hetzner because of the costs.", "technology=Fly.io ended | technology=Hetzner"),
    ("I speak Danish, English and a bit of Thai.", "language=Danish | language=English | language=Thai"),
    ("My native language is Welsh.", "language=Welsh"),
    ("I take metformin and I use a wheelchair.", "medicine=metformin"),
    ("I'm on blood thinners.", "medicine=blood thinners"),
    ("I'm divorced.", "marital_status=divorced"),
    ("We got married last summer.", "marital_status=married"),
]

WORK = [
    ("I work as a baker there.", "profession=baker"),
    ("I'm a midwife.", "profession=midwife"),
    ("I work as a tram driver in Graz.", "profession=tram driver"),
    ("I'm a data engineer at Volvo.", "profession=data engineer | employer=Volvo"),
    ("As a plumber, I see a lot of kitchens.", "profession=plumber"),
    ("I recently became a full-time teacher.", "profession=full-time teacher"),
    ("I work for a small publisher.", "employer=small publisher"),
    ("I've been working at Ikea since 2019.", "employer=Ikea"),
    ("We use Postgres and Redis for the shop.", "technology=Postgres | technology=Redis"),
    ("I mostly code in Rust.", "technology=Rust"),
    ("Our backend is written in Kotlin.", "technology=Kotlin"),
]

PEOPLE_AND_ANIMALS = [
    ("I went to Oslo with my wife Clara.", "partner=Clara"),
    ("My husband's name is Tariq.", "partner=Tariq"),
    ("Noor is my daughter.", "child=Noor"),
    ("I'm engaged to Felix.", "partner=Felix | marital_status=engaged"),
    ("My kids Mila and Jonas love the sea.", "child=Mila | child=Jonas"),
    ("I have two sons.", "child=two sons"),
    ("Our neighbour Mrs Lindqvist is on holiday.", "neighbour=Lindqvist"),
    ("I had lunch with my colleague Amal.", "colleague=Amal"),
    ("My dog Bruno sleeps all day.", "pet=dog Bruno"),
    ("We have a cat named Olive.", "pet=cat Olive"),
    ("We have two cats, Milo and Luna.", "pet=cat Milo | pet=cat Luna"),
    ("I have a parrot.", "pet=parrot"),
]

HEALTH_AND_FOOD = [
    ("I'm allergic to peanuts and shellfish.", "allergy=shellfish | allergy=peanuts"),
    ("I have a severe pollen allergy.", "allergy=pollen"),
    ("I have type 2 diabetes.", "condition=type 2 diabetes"),
    ("I'm lactose intolerant.", "condition=lactose intolerant"),
    ("I'm vegan.", "diet=vegan"),
    ("I went vegetarian in 2020.", "diet=vegetarian"),
    ("I don't eat pork.", "avoids=pork"),
]

TASTES = [
    ("I love hiking, jazz and Thai food.", "likes=Thai food | likes=hiking | likes=jazz"),
    ("I'm a big fan of Miyazaki.", "likes=Miyazaki"),
    ("I'm really into board games.", "likes=board games"),
    ("My favourite colour is teal.", "favorite_color=teal"),
    ("I can't stand cilantro.", "dislikes=cilantro"),
    ("I'm not a fan of loud restaurants.", "dislikes=loud restaurants"),
    ("I love the sea but hate crowded beaches.", "likes=sea | dislikes=crowded beaches"),
    ("I dislike large, noisy offices.", "dislikes=large, noisy offices"),
    ("I avoid films or series about war.", "avoids=films or series about war"),
    ("I strongly prefer not to sit in the front row.", "prefers=not to sit in the front row"),
    ("I prefer trains over planes.", "prefers=trains over planes"),
    ("My hobbies are pottery and fencing.", "interest=pottery | interest=fencing"),
    ("My goal is to read fifty books.", "goal=read fifty books"),
    ("I want to become a pilot.", "goal=become a pilot"),
]

INSTRUCTIONS = [
    ("Please keep your answers short.", "communication_style=keep your answers short"),
    ("Please answer in Spanish.", "communication_style=answer in Spanish"),
    ("I prefer detailed explanations.", "prefers=detailed explanations"),
    ("Always start method names with md_.", "rule: method name prefix=start method names with md_"),
    (
        "From now on, start variable names with 'q_' and class names with 'w_'.",
        "rule: variable name prefix=start variable names with 'q_'",
    ),
    ("When naming functions, end them with '_fn'.", "rule: function name suffix=functions, end them with '_fn'"),
    ("From now on, don't use comments.", "rule: comment=don't use comments"),
    ("Never use global variables.", "rule: global variable=Never use global variables"),
    ("From now on, cite your sources.", "rule: source=cite your sources"),
    ('My wifi password is "hunter2".', "wifi_password=hunter2"),
    ("My 10K personal best is 47:12.", "10k_personal_best=47:12"),
    ("My email is ingrid@example.org.", "email=ingrid@example.org"),
    ("The deadline is now June 3.", "deadline=June 3"),
]

OTHERS = [
    ("My wife is a carpenter.", "user's wife.profession=carpenter"),
    ("My mom lives in Turin.", "user's mother.home=Turin"),
    ("My little brother is 12 years old.", "user's younger brother.age=12"),
    ("My son loves dinosaurs.", "user's son.likes=dinosaurs"),
    ("My daughter is allergic to eggs.", "user's daughter.allergy=eggs"),
    ("My uncle Sven works at Maersk.", "relative=Sven | Sven.employer=Maersk"),
    ("Yuki is a translator.", "Yuki.profession=translator"),
    ("I met my sister yesterday. She lives in Gdansk.", "user's sister.home=Gdansk"),
    ("My best friend can't come. He's a pilot.", "user's best friend.profession=pilot"),
]

ENDED = [
    ("I don't like jazz any more.", "likes=jazz ended"),
    ("I no longer like jazz.", "likes=jazz ended"),
    ("I used to love camping.", "likes=camping ended"),
    ("I've lost interest in stamps.", "likes=stamps ended"),
    ("I no longer work at Siemens.", "employer=Siemens ended"),
    ("I left my job at Siemens in March.", "employer=Siemens ended"),
    ("I quit my job.", "employer= ended"),
    ("I'm no longer a teacher.", "profession=teacher ended"),
    ("I used to work as a waiter.", "profession=waiter ended"),
    ("I'm not a vegetarian any more.", "diet=vegetarian ended"),
    ("I'm not vegetarian any more, started eating fish last month on my doctor's advice.", "diet=vegetarian ended"),
    ("My dog Rex died.", "pet=dog Rex ended"),
    ("Luna passed away in May.", "pet=Luna dropped"),
    ("We had to put Rex down.", "pet=Rex dropped"),
    ("I don't live in Ghent anymore.", "home=Ghent ended"),
    ("I'm no longer allergic to cats.", "allergy=cats ended"),
    ("I no longer use Docker.", "technology=Docker ended"),
    ("My ex-wife Carol called.", "partner=Carol ended"),
    ("I'm not allergic to cats.", "allergy=cats wrong"),
    ("It turns out I'm not allergic to cats.", "allergy=cats wrong"),
    ("The doctor says I'm not allergic to cats.", "allergy=cats wrong"),
    ("Actually, I am not allergic to cats after all.", "allergy=cats wrong"),
    ("I'm not allergic to cats at all.", "allergy=cats wrong"),
    ("Actually my name is Anne, not Anna.", "name=Anne | name=Anna wrong"),
    ("We migrated from MySQL to Postgres.", "technology=Postgres | technology=MySQL ended"),
    ("I moved from Hamburg to Munich last May.", "home=Munich | home=Hamburg ended"),
]

TASKS = [
    ("I need to call the bank tomorrow.", "todo=call the bank 03-13 00:00"),
    ("Remind me to buy milk on Friday at 5pm.", "todo=buy milk 03-14 17:00"),
    ("I still have to renew my passport.", "todo=renew my passport"),
    ("Add oat milk to my shopping list.", "todo=oat milk"),
    ("Don't let me forget to water the plants tomorrow.", "todo=water the plants 03-13 00:00"),
    ("I have a dentist appointment next Tuesday at 3.", "appointment=dentist appointment 03-18 15:00"),
    ("Tomorrow at 9am I have a meeting with the architect.", "appointment=meeting with the architect 03-13 09:00"),
    ("My flight leaves on Friday at 6am.", "appointment=flight 03-14 06:00"),
    ("My dentist appointment was moved to Thursday at 4pm.", "appointment=dentist appointment 03-13 16:00"),
    ("We decided to go with the blue tiles.", "decision=the blue tiles"),
    ("I've booked the dentist.", "todo=book the dentist done"),
    ("I finished the report.", "todo=the report done"),
    ("Just submitted my tax return!", "todo=submit my tax return done"),
    ("The invoices are all paid.", "todo=invoices done"),
    ("I'm done with the slides.", "todo=slides done"),
    ("I cancelled the gym.", "todo=gym dropped"),
    ("I don't need to call the bank any more.", "todo=call the bank dropped"),
    ("I cancelled my dentist appointment.", "appointment=dentist appointment dropped"),
    ("The meeting with Paul is cancelled.", "appointment=meeting with Paul dropped"),
    ("I no longer plan to run a marathon.", "goal=run a marathon dropped"),
]

ANSWERS = [
    ("What do you do?", "I'm a nurse.", "profession=nurse"),
    ("What do you do for a living?", "Nurse.", "profession=Nurse"),
    ("Where do you live?", "Berlin.", "home=Berlin"),
    ("Nice! And where are you from?", "Oh, from Peru originally", "hometown=Peru"),
    ("How old are you?", "32", "age=32"),
    ("What's your name?", "Mika", "name=Mika"),
    ("What is your favorite dish?", "Lasagna!", "favorite_dish=Lasagna"),
    ("What are your hobbies?", "Climbing and baking.", "interest=baking"),
    ("Do you have any allergies?", "Yes, peanuts.", "allergy=peanuts"),
]


CASES = WHO_ONE_IS + WORK + PEOPLE_AND_ANIMALS + HEALTH_AND_FOOD + TASTES + INSTRUCTIONS + OTHERS + ENDED + TASKS


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_what_is_said_becomes_claims(text: str, expected: str) -> None:
    assert READER.lines(text) == listed(expected)


@pytest.mark.parametrize(("text", "_"), TASKS)
def test_what_is_to_be_done_is_a_task(text: str, _: str) -> None:
    assert {claim.category for claim in READER.claims(text)} == {Category.TASK}


NOTHING = [
    # asked
    "Do you think I'm a nurse?", "Where do I live?", "I live in Berlin?", "Is my name Tom?",
    "Could you tell me whether I'm allergic to nuts?", "Am I vegan now?",
    # supposed
    "If I were a nurse, I would live in Paris.", "If it rains I need to call the plumber.", "Imagine I'm a pirate.",
    "Suppose I live in Rome and work at a bank.", "I wish I lived in Rome.", "Maybe I'm allergic to nuts.",
    "What if my name is Tom?", "Pretend my name is Tom.",
    # denied
    "I'm not a nurse.", "I don't live in Berlin.", "I'm not from Spain.", "I never said my name is Tom.",
    "A new flat in Berlin costs a fortune.", "My grandma died in May.",
    "I have no allergies.", "I don't take insulin.", "I'm not married.", "I'm not allergic to anything.",
    # said by others
    "She told me that I'm a genius.", 'He said "I live in Berlin" and left.',
    'My boss shouted "I love jazz" through the office.', "Anna said, I live in Berlin.",
    # wished, planned, past
    "I'd love to live in Rome.", "I would like a coffee.", "I will be 40 next month.", "I might move to Oslo.",
    "I thought about moving to Oslo.", "When I was 12 I lived in Oslo.",
    # about nothing lasting
    "I like it.", "I love you.", "I love the dress.", "I love that you called.", "I need to know the answer.",
    "I have to say something.", "I have a question.", "I have an idea.", "I'm a mess.", "I'm a bit tired.",
    "I'm sorry.", "I'm 10% sure.", "I'm in love with my job.", "I work hard.", "I work from home.",
    "I live with my parents.", "I live in fear.", "I'm about to leave.", "I'm so into it right now.",
    "My mind is made up.", "My phone is dead.", "Call me tomorrow.", "Never mind.", "Always happy to help!",
    "Thanks, that was great!", "What a day!", "You are a nurse and you live in Berlin.", "The weather is nice.",
    "They live somewhere else.", "Can you recommend a book?", "Write a poem about a nurse who lives in Berlin.",
    "```\nmy name is Tom\n```", "> I live in Berlin.", "Translate this: I live in Berlin. My name is Tom.",
    "Please proofread the following. I'm a nurse and I love jazz.",
    # about somebody else
    "I met my brother yesterday. She lives in Gdansk.",
]  # fmt: skip


@pytest.mark.parametrize("text", NOTHING)
def test_what_is_not_asserted_or_not_lasting_is_not_claimed(text: str) -> None:
    assert READER.claims(text) == []


def test_a_time_tells_since_and_until_when_it_is_so() -> None:
    new, old = READER.claims("I moved from Hamburg to Munich last May.")
    assert (new.value, new.since) == ("Munich", datetime(2024, 5, 1, tzinfo=UTC))
    assert (old.value, old.since, old.until) == ("Hamburg", None, datetime(2024, 5, 1, tzinfo=UTC))
    (claim,) = READER.claims("I've lived in Utrecht since 2019.")
    assert (claim.value, claim.since) == ("Utrecht", datetime(2019, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(("question", "answer", "expected"), ANSWERS)
def test_a_short_answer_says_what_was_asked(question: str, answer: str, expected: str) -> None:
    assert expected in READER.lines(f"A:{question}", answer)


@pytest.mark.parametrize("answer", ["Thanks!", "I'd rather not say.", "No.", "Why do you ask?", "It depends."])
@pytest.mark.parametrize("question", ["Where do you live?", "What do you do?", "Do you have any allergies?"])
def test_an_answer_that_tells_nothing_claims_nothing(question: str, answer: str) -> None:
    assert READER.claims(f"A:{question}", answer) == []


def test_the_same_words_without_the_question_claim_nothing() -> None:
    assert READER.claims("A:Good morning.", "Berlin.") == []


@pytest.mark.parametrize(
    "correction", ["No, I meant Munich, not Berlin.", "Sorry, Munich, not Berlin.", "It's Munich, not Berlin!"]
)
def test_a_correction_takes_back_what_was_said_a_few_turns_before(correction: str) -> None:
    found = READER.lines("I live in Berlin.", "A:Nice!", "It's sunny today.", "A:Good.", correction)
    assert found == ["home=Berlin wrong", "home=Munich"]


def test_a_correction_of_nothing_that_was_said_claims_nothing() -> None:
    assert READER.claims("I live in Berlin.", "A:Nice!", "No, I meant tea, not coffee.") == []


def test_a_later_rule_about_the_same_names_has_the_same_attribute() -> None:
    (first,) = READER.claims("Start method names with 'a_'.")
    (second,) = READER.claims("From now on, all methods should start with 'b_'.")
    assert first.attribute == second.attribute == "rule: method name prefix"
    assert first.single
    assert second.single


def test_long_statements_are_cut_at_a_word() -> None:
    words = "films that are longer than " + "very " * 60 + "long"
    (claim,) = READER.claims(f"I dislike {words}.")
    assert len(claim.value) <= 120
    assert claim.value in words
    assert not claim.value.endswith("ver")
