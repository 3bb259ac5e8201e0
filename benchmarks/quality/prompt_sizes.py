"""The sizes of the prompts of `generator=chat` on MTRAG, and its hints at texts that no prompt has.

Run `python benchmarks/quality/prompt_sizes.py D OVERRIDE ...`: D is the folder of MTRAG's data, and
the overrides choose the stages.
"""

import re
import sys
from collections.abc import Sequence

from convrag import Pipeline, TurnRecord
from convrag.config.compose import compose_command
from convrag.turn.wiring import Wiring

TOKENS_PER_MESSAGE = 4


class PromptSizes:
    """The sizes of the prompts of many turns."""

    def __init__(self) -> None:
        self.turns = 0
        self.most_tokens = 0
        self.most_characters = 0
        self.exchanges = 0
        self.hints = 0
        self.orphaned_hints = 0

    def add(self, record: TurnRecord) -> None:
        """Measure the last prompt of a turn, which is the one of its answer."""
        messages = [message.content for message in record.prompt]
        history = messages[1:-1]
        self.turns += 1
        self.most_tokens = max(self.most_tokens, sum(map(count_tokens, messages)))
        self.most_characters = max(self.most_characters, sum(map(len, history)))
        self.exchanges += len(history) // 2
        for item in record.evidence.items:
            if item.hint:
                self.hints += 1
                hinted = item.passage.text.strip()
                self.orphaned_hints += not any(hinted in text for text in messages)

    def format(self) -> str:
        """Format the sizes as one line."""
        return (
            f"{self.turns} turns: at most {self.most_tokens:,} tokens, and "
            f"{self.most_characters:,} characters of history; "
            f"{self.exchanges / max(self.turns, 1):.1f} earlier exchanges on average; "
            f"{self.hints} hints, {self.orphaned_hints} of them at a text that is not sent"
        )


def count_tokens(text: str) -> int:
    """Count the tokens of a message as llm=extractive does."""
    return len(re.findall(r"\w+|[^\w\s]", text)) + TOKENS_PER_MESSAGE


def measure(path: str, overrides: Sequence[str]) -> PromptSizes:
    """Ask the turns of MTRAG's conversations, with answers as history."""
    chosen = [
        "dataset=mtrag",
        f"dataset.path={path}",
        "dataset.domain=clapnq+cloud",
        "llm=extractive",
        "tracker=none",
        *overrides,
    ]
    chat = Pipeline.compose(*chosen)
    dataset = Wiring(*compose_command(*chosen)).get("dataset")
    sizes = PromptSizes()
    for conversation in dataset.conversations():
        for turn in conversation.turns:
            sizes.add(chat.turn(conversation.id, turn.question, domain=conversation.domain))
    return sizes


if __name__ == "__main__":
    sys.stdout.write(f"{measure(sys.argv[1], sys.argv[2:]).format()}\n")
