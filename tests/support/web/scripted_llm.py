"""A plugin for tests of the chat page: a language model that writes its answers in pieces, `scripted`.

    python -m convrag task=serve plugins=[tests/support/web/scripted_llm.py] llm=scripted
    generator=direct

It quotes the first sentences of two passages, and counts the attempts. What a question says decides
how: "slowly" makes it pause for half a second after each word, "wait for FILE" makes it wait for a
file after its first words, "fail" lets it fail, "hostile" lets it write HTML, and "think" lets it
think before it writes.
"""

import re
from collections import Counter
from pathlib import Path

from convrag import Completion, Dataset, LLMError, Message, Prompt, Store, hookimpl
from convrag.concurrency.cancellation import sleep
from convrag.concurrency.streaming import current_listener, notify
from convrag.sdk.text.sentences import get_first_sentence
from convrag_offline.extractive import ExtractiveLLM

HOSTILE = "<img src=x onerror=\"window.hurt=1\"><script>window.hurt=1</script><b onclick='window.hurt=1'>&amp;"
"""A text that does harm where it is taken for HTML."""

HOSTILE_ANSWER = f"""{HOSTILE} [1]

![picture](https://elsewhere.example/x.png) [script](javascript:window.hurt=1) [page](https://elsewhere.example/page)

<style>body {{ display: none }}</style><form action="https://elsewhere.example/"><input name="q"></form>

`items[1]` [99] [1, 2]
"""

SUGGESTED = ("How far away is it?", "Who has been there?")


class ScriptedLLM(ExtractiveLLM):
    """Write answers in pieces, and do the rest as llm=extractive does.

    Args:
        dataset: as for llm=extractive.
        store: as for llm=extractive.
    """

    def __init__(self, *, dataset: Dataset, store: Store) -> None:
        super().__init__(dataset=dataset, store=store)
        self._asked: Counter[tuple[Message, ...]] = Counter()

    def complete(self, prompt: Prompt) -> Completion:
        """Answer, or do what llm=extractive does. Raises LLMError for a question that says "fail"."""
        if prompt.task == "suggest":
            return Completion("\n".join(SUGGESTED), 1, 1, model="scripted")
        if prompt.task != "answer":
            return super().complete(prompt)
        question = str(prompt.inputs["question"])
        if "fail" in question:
            raise LLMError("the model is out of order")
        self._asked[prompt.messages] += 1
        text = _write_answer(question, prompt, self._asked[prompt.messages])
        waits = re.search(r"wait for (\S+)", question)
        thoughts = ""
        if "think" in question:
            notify("The model thinks")
            thoughts = f"Is it the Moon?\nIt is {HOSTILE}"
        _send_pieces(
            text, 0.5 if "slowly" in question else 0.004, Path(waits[1]) if waits else None
        )
        return Completion(
            text,
            10,
            10,
            model="scripted",
            cost_usd=0.0,
            reasoning=thoughts,
            reasoning_tokens=7 if thoughts else 0,
        )


class AskingLLM(ScriptedLLM):
    """A language model that asks back whenever it may, with the titles of two passages to choose from."""

    @property
    def tasks(self) -> None:
        """None: it is taken for a language model."""
        return None

    def complete(self, prompt: Prompt) -> Completion:
        """Ask back where the prompt allows it."""
        if prompt.task != "answer" or "[ASK]" not in prompt.messages[0].content:
            return super().complete(prompt)
        titles = [item["title"] for item in prompt.inputs["evidence"][:2]]
        choices = "\n".join(f"{number}. {title}" for number, title in enumerate(titles, 1))
        text = f"[ASK]\nWhich of these do you mean?\n\n{choices}"
        return Completion(text, 10, 10, model="asking", cost_usd=0.0)


def _write_answer(question: str, prompt: Prompt, attempt: int) -> str:
    if "hostile" in question:
        return HOSTILE_ANSWER
    quotes = [
        f"{get_first_sentence(item['text'].removeprefix(item['title']).strip())} [{item['number']}]"
        for item in prompt.inputs["evidence"][:2]
    ]
    again = [f"Attempt {attempt}."] if attempt > 1 else []
    return " ".join([*again, *quotes])


def _send_pieces(text: str, pause: float, awaited: Path | None) -> None:
    listener = current_listener()
    if listener is None:
        return
    for place, piece in enumerate(text.split(" ")):
        while awaited and place == 3 and not awaited.exists():
            sleep(0.05)
        listener(f"{piece} ")
        sleep(pause)


@hookimpl
def convrag_register(register):
    """Register the options."""
    register("llm", "scripted", ScriptedLLM)
    register("llm", "asking", AskingLLM)
