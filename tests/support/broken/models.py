"""Language models that break a promise of theirs."""

from typing import Any

from broken.noting import ascii_only, breaks
from convrag import Completion
from sound import SoundLLM


@breaks("test_its_results_are_right")
class Mute(SoundLLM):
    """Says nothing."""

    def complete(self, prompt: Any) -> Completion:
        return Completion("")


@breaks("test_its_results_are_right")
class AsciiLLM(SoundLLM):
    """Knows one alphabet."""

    def complete(self, prompt: Any) -> Completion:
        ascii_only(prompt.messages[-1].content)
        return super().complete(prompt)


@breaks("test_it_counts_tokens")
class Padded(SoundLLM):
    """Counts a token too many."""

    def count_tokens(self, text: str) -> int:
        return 1 + super().count_tokens(text)


@breaks("test_the_request_tells_prompts_apart")
class Careless(SoundLLM):
    """Takes all prompts for one."""

    def request(self, prompt: Any) -> dict[str, str]:
        return {"model": "careless"}


@breaks("test_the_pieces_make_up_the_reply")
class Stuck(SoundLLM):
    """Promises pieces, and gives none."""

    streams = True
