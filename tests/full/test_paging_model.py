from __future__ import annotations

from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.ports import LanguageModel
from hybrid_memory_paging import PagedAgent


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
