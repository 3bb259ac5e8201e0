"""`ranker=llm_listwise`: a language model orders windows of texts, from the last to the first."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from convrag import ConfigError, PromptTemplate, Report, TurnRecord
from convrag.sdk.llm.sampling import Temperature
from convrag_llm_rankers.conversation_ranker import ConversationRanker

_TASK = "order"


@dataclass(kw_only=True, eq=False)
class ListwiseRanker(ConversationRanker):
    """Let a language model order passages side by side, a window at a time.

    It sees the conversation, too. The windows slide from the end of the ranking to its beginning,
    so that a good passage can rise from the last place to the first (Sun et al. 2023, RankGPT;
    their window and step). 20 texts are one call, 100 are nine, one after the other. Passages that
    a reply forgets follow those that it names, in their order; repeated and unknown numbers are
    ignored; the run's report counts both.

    Args:
        llm: a language model.
        turns: exchanges before the question that it sees.
        depth: texts that it orders; the others follow in the order in which they came.
        window: texts that it sees at once.
        step: texts by which the window moves.
        words: of each text that it sees at most.
        prompt: a Jinja file to use instead of this package's order.jinja; it is given `query` and
            `passages`.
        temperature: 0 gives the likeliest reply; None leaves it to the llm.

    Raises:
        ConfigError: the step is larger than the window, so that texts between would be left out.
        DataError: the prompt's file is missing or is no template.
    """

    window: Annotated[int, Ge(2)] = 20
    step: Annotated[int, Ge(1)] = 10
    words: Annotated[int, Ge(1)] = 300
    prompt: Path | None = None
    temperature: Temperature | None = 0.0

    def __post_init__(self) -> None:
        if self.step > self.window:
            what = f"step={self.step} is larger than window={self.window}"
            raise ConfigError(f"{what}: texts between windows would be left out")
        self.template = PromptTemplate(_TASK, package="convrag_llm_rankers", path=self.prompt)
        self.prompt_templates = (self.template,)
        self.sampling = {"temperature": self.temperature}

    def score_seen(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score each text by the number of texts that rank below it."""
        order = list(range(len(texts)))
        for start, end in list_windows(len(texts), self.window, self.step):
            if end - start > 1:
                order[start:end] = self._order(query, texts, order[start:end])
        scores = [0.0] * len(texts)
        for rank, place in enumerate(order):
            scores[place] = float(len(texts) - 1 - rank)
        return scores

    def _order(self, query: str, texts: Sequence[str], places: Sequence[int]) -> list[int]:
        """Order the texts at these places by a reply of the model."""
        passages = [" ".join(texts[place].split()[: self.words]) for place in places]
        prompt = self.template.render(self.sampling, query=query, passages=passages)
        order, _ = read_order(self.llm.complete(prompt).text, len(places))
        return [places[index] for index in order]

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """Count the replies that had to be repaired."""
        replies = repaired = 0
        for record in records:
            for prompt, reply in record.replies:
                if prompt.task == _TASK:
                    _, faults = read_order(reply.text, len(prompt.inputs["passages"]))
                    replies += 1
                    repaired += int(faults > 0)
        if not repaired:
            return None
        line = f"{repaired:,} of {replies:,} orders repeated, invented or forgot passages."
        return Report("Listwise ranking", (line,), {"replies": replies, "repaired": repaired})


_NUMBER = re.compile(r"\d+")


def read_order(reply: str, count: int) -> tuple[list[int], int]:
    """Read an order of passages: "[2] > [1] > [3]".

    Args:
        reply: of the model.
        count: the passages that it was shown, numbered from 1.

    Returns:
        The places of all passages, from 0, the best first, and the number of faults: repeated,
        unknown and missing numbers. Missing passages come last, in the order in which they were
        shown.

    Example:
        >>> read_order("[3] > [1] > [3] > [9]", 4)
        ([2, 0, 1, 3], 4)
    """
    named = [int(number) - 1 for number in _NUMBER.findall(reply)]
    order = list(dict.fromkeys(place for place in named if 0 <= place < count))
    missing = [place for place in range(count) if place not in order]
    ignored = len(named) - len(order)
    return order + missing, ignored + len(missing)


def list_windows(count: int, size: int, step: int) -> Sequence[tuple[int, int]]:
    """List the windows (start, end) of a list, from its end to its beginning.

    Example:
        >>> list_windows(10, size=4, step=2)
        [(6, 10), (4, 8), (2, 6), (0, 4)]
    """
    windows = []
    for end in range(count, 0, -step):
        start = max(0, end - size)
        windows.append((start, end))
        if start == 0:
            break
    return windows
