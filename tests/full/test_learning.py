from hybrid_memory import MemoryConfig, Message, Role, open_memory
from hybrid_memory.facts.reader import ModelExtractor
from hybrid_memory.ports import LanguageModel
from hybrid_memory.text.tokenize import terms
from hybrid_memory_evaluation import Probe, ProbeKind
from hybrid_memory_evaluation.judging import Judge
from hybrid_memory_evaluation.replaying import answered
from hybrid_memory_paging import PagedAgent
from tests.world import event

SAID = (
    "Good morning! I'm Maya, and I write firmware for a robotics company in Lisbon.",
    "我对花生过敏，请记住。",
    "Do you know a good film for tonight?",
)
EXPECTED = {"Maya", "Lisbon", "firmware", "花生"}


def test_a_small_model_finds_facts_that_the_turns_state(local_model: LanguageModel) -> None:
    extractor = ModelExtractor(local_model)
    claims = extractor.extract([event(number, text) for number, text in enumerate(SAID, 1)], [])
    for claim in claims:
        print(f"[{claim.source}] {claim.subject} · {claim.attribute}: {claim.value}")  # noqa: T201 - read with pytest -s
        assert claim.by == extractor.name
        assert set(terms(claim.value)) & set(terms(SAID[claim.source - 1]))
    found = {word for word in EXPECTED for claim in claims if word in claim.value}
    assert found, f"even a small model should find one of {EXPECTED}"
    assert not any(claim.source == 3 for claim in claims), "nothing was stated, only asked"


TALK = [
    Message(role=Role.SYSTEM, content="You answer questions about the conversation. Answer in a few words."),
    Message(content="我叫梅雅，三月份搬到了里斯本，在一家机器人公司写固件。I am allergic to peanuts."),
]


def test_a_question_is_answered_from_the_conversation(local_model: LanguageModel) -> None:
    answer = local_model.complete([*TALK, Message(content="Which food must she avoid?")])
    assert "peanut" in answer.lower()


def test_a_schema_is_followed(local_model: LanguageModel) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "allergies": {"type": "array", "items": {"type": "string"}}},
        "required": ["city", "allergies"],
    }
    found = local_model.structured(
        [*TALK, Message(content="Where does she live, and what is she allergic to?")], schema
    )
    assert found.keys() == {"city", "allergies"}
    assert found["city"] in {"里斯本", "Lisbon"}
    assert any(word in found["allergies"][0] for word in ("peanut", "花生"))


LOCKER = Probe("locker", ProbeKind.RECALL, "Which number has my locker?", "QX4471", ("QX4471",), ("turn-1",))


def test_a_small_model_answers_from_the_prompt(local_model: LanguageModel) -> None:
    prompt = [
        {"role": "user", "content": "My locker at the station has the number QX4471."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": LOCKER.question},
    ]
    assert LOCKER.share(answered(local_model, prompt, LOCKER.question)) == 1


def test_the_grade_of_a_small_judge_can_be_read(local_model: LanguageModel) -> None:
    evidence = "user: My locker at the station has the number QX4471."
    grade = Judge(local_model).grade(LOCKER, evidence, "It has the number QX4471.")
    # What so small a model's scores are worth is not asserted.
    assert not grade.failed
    assert all(0 <= score <= 5 for score in grade.scores.values())


def test_a_small_model_edits_its_working_context_by_a_valid_call_and_answers(local_model: LanguageModel) -> None:
    with (
        open_memory(MemoryConfig(url="memory://", embedder="hashing")) as memory,
        PagedAgent(
            memory,
            agent="assistant",
            user="marta",
            model=local_model,
            memory_functions=["core_memory_append", "send_message"],
            max_tokens=1200,
            max_steps=3,
        ) as agent,
    ):
        run = agent.send("My daughter Wren is allergic to peanuts. Note that, please.")
        failed = [message.text for message in run.messages if message.extra.get("failed")]
        assert run.why == "yielded"
        assert run.calls == ["core_memory_append"], run.messages
        assert not failed
        human = agent.memory.blocks()["human"]
        assert "peanuts" in human.value
        assert human.change == "append"
        assert run.replies
