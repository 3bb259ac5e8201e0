"""A model's thoughts: separated from its text, and listed for those who show a turn."""

from convrag.api.records import REASONING, TurnRecord
from convrag.api.thoughts import (
    ThoughtSplitter as ThoughtSplitter,
    separate_thoughts as separate_thoughts,
    split_thoughts as split_thoughts,
)


def list_thoughts(record: TurnRecord) -> dict[str, str]:
    """List what models thought in a turn: stage -> thoughts."""
    return {
        stage: str(entries[REASONING])
        for stage, entries in record.trace.items()
        if entries.get(REASONING)
    }


def count_thoughts(record: TurnRecord) -> int:
    """Count the tokens of the thoughts of a turn."""
    return sum(usage.reasoning_tokens for usage in record.usage.values())
