"""Whether what a user must not be harmed by reaches the prompt of a task that needs it, in everyday words.

    python benchmarks/lives/safety.py --json safety.json

Sixty wordings of allergies, illnesses, medicines, needs of access and "never", ten in each of six languages, in
`safety.json`. Each user says five of them among fifteen ordinary things, each answered with "OK.", in one session;
then each task is asked in a new one. A wording counts if it stands in the prompt beside the task.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from hybrid_memory import open_memory

EACH = 5


def missed(language: str, data: dict[str, Any]) -> list[str]:
    """What of a language does not reach its task."""
    lost = []
    with open_memory("memory://") as memory:
        for first in range(0, len(data["wordings"]), EACH):
            user, chosen = f"{language}{first}", data["wordings"][first : first + EACH]
            said = list(data["ordinary"])
            for number, wording in enumerate(chosen):
                said.insert(4 * number + 1, wording["says"])
            talk = memory.scoped(user=user, session="first")
            for text in said:
                talk.remember([text, {"role": "assistant", "content": "OK."}])
            memory.flush()
            for number, wording in enumerate(chosen):
                later = memory.scoped(user=user, session=f"task {number}")
                shown = later.assemble(wording["task"]).text.rpartition(wording["task"])[0]
                if wording["need"].casefold() not in shown.casefold():
                    lost.append(wording["says"])
    return lost


def main() -> None:
    """Print the figure of each language and what is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    data = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    lost = {}
    for language, of in data.items():
        lost[language] = missed(language, of)
        number = len(of["wordings"])
        print(f"{language} {number - len(lost[language])} of {number}", *lost[language], sep="\n  ", flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps(lost, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
