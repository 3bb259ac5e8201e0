"""Stages that ask language models as fuzz targets: the model's reply is the bytes, and the stage
must cope with it.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from convrag import (
    LLM,
    Answer,
    Completion,
    Conversation,
    Dataset,
    Evidence,
    EvidenceItem,
    Hit,
    LLMError,
    Nugget,
    Prompt,
    PromptTemplate,
    Query,
    Retriever,
    Turn,
    TurnRecord,
)
from convrag.sdk.llm.judges import Judge
from convrag.sdk.retry_after import parse_retry_after
from convrag.sdk.text.answers import ReferenceTurn
from convrag.sdk.text.citations import check_citations
from convrag.sdk.text.clauses import shorten_by_clauses
from convrag.sdk.text.sentences import find_sentence_spans
from convrag.testing import LetterEmbedder
from convrag.testing.samples import passages, question
from convrag_basics.direct import DirectGenerator
from convrag_clusterers.topics import LsaClusterer
from convrag_condense.chat import ChatGenerator
from convrag_condense.rewriter import CondenseRewriter
from convrag_dhrag.rewriter import DHRagRewriter
from convrag_ginger.baselines import BaselineGenerator, CotGenerator
from convrag_ginger.clusters import SizeRanker
from convrag_ginger.generator import GingerGenerator
from convrag_ginger.llm_detector import LlmDetector
from convrag_ginger.summarizer import LlmSummarizer
from convrag_judging.judge import JudgeMetrics
from convrag_judging.nugget_assessor import NuggetAssessor, NuggetLimits
from convrag_judging.nugget_labels import NuggetSet
from convrag_metrics.mtrag import MtragMetrics

Check = Callable[[str], Any]


class NoRetriever(Retriever):
    """Finds nothing."""

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        return []


class FixedLLM(LLM):
    """Gives the same reply to each prompt."""

    reply = ""

    def complete(self, prompt: Prompt) -> Completion:
        """The reply; an empty one is an error, as with a server."""
        if not self.reply.strip():
            raise LLMError("the reply is empty")
        return Completion(self.reply, model="fixed")

    def count_tokens(self, text: str) -> int:
        """Count words."""
        return len(text.split())


@cache
def _llm() -> FixedLLM:
    return FixedLLM()


@cache
def _stages() -> dict[str, Any]:
    llm, embedder = _llm(), LetterEmbedder()
    detector = LlmDetector(llm=llm)
    names = ("nuggetise", "importance", "assign")
    prompts = {name: PromptTemplate(name, package="convrag_judging") for name in names}
    ginger = GingerGenerator(
        llm=llm,
        detector=detector,
        clusterer=LsaClusterer(),
        embedder=embedder,
        ranker=SizeRanker(),
        summarizer=LlmSummarizer(llm=llm),
    )
    return {
        "detector": detector,
        "summarizer": LlmSummarizer(llm=llm),
        "ginger": ginger,
        "baseline": BaselineGenerator(llm=llm),
        "cot": CotGenerator(llm=llm),
        "direct": DirectGenerator(llm=llm),
        "chat": ChatGenerator(llm=llm),
        "condense": CondenseRewriter(llm=llm, retriever=NoRetriever(), gate="always"),
        "dhrag": DHRagRewriter(llm=llm, embedder=embedder),
        "judge": JudgeMetrics(llm=llm, dataset=_Asked(), workers=1),
        "mtrag": MtragMetrics(llm=llm, dataset=_Asked(), workers=1),
        "nuggets": NuggetAssessor(Judge("llm", llm), prompts, NuggetLimits()),
    }


def _answer(stage: str) -> Check:
    def check(reply: str) -> None:
        _llm().reply = reply
        evidence = Evidence(
            tuple(EvidenceItem(n, passage, passage.text) for n, passage in enumerate(passages(), 1))
        )
        answer = _stages()[stage].generate(question(), evidence)
        assert isinstance(answer.text, str)

    return check


def _rewrite(stage: str) -> Check:
    def check(reply: str) -> None:
        _llm().reply = reply
        rewrite = _stages()[stage].rewrite(question())
        assert all(query.text.strip() for query in rewrite.queries)

    return check


def _detect(reply: str) -> None:
    _llm().reply = reply
    for passage in passages():
        for nugget in _stages()["detector"].detect("Is copper better?", passage):
            assert passage.text[nugget.start : nugget.end] == nugget.text


def _summarize(reply: str) -> None:
    _llm().reply = reply
    nuggets = [Nugget(passage.text, passage.id, 0, len(passage.text)) for passage in passages()]
    assert isinstance(_stages()["summarizer"].summarize("Is copper better?", nuggets, 35), str)


class _Asked(Dataset):
    def conversations(self) -> Iterator[Conversation]:
        yield Conversation("c", (Turn("t", "Is copper better?", "Copper conducts heat better."),))


def _judge(stage: str, lowest: float, highest: float) -> Check:
    def check(reply: str) -> None:
        _llm().reply = reply
        evidence = Evidence(
            tuple(EvidenceItem(n, passage, passage.text) for n, passage in enumerate(passages(), 1))
        )
        answer = Answer("Copper is better.")
        record = TurnRecord(
            "c", "t", "default", 1, "Is copper better?", answer=answer, evidence=evidence
        )
        for values in _stages()[stage].measure([record]).values():
            assert all(lowest <= value <= highest for value in values.values())

    return check


def _assess_nuggets(reply: str) -> None:
    _llm().reply = reply
    assessor, problems = _stages()["nuggets"], []
    assert all(
        isinstance(nugget, str) for nugget in assessor.create_nuggets(_turn(), passages(), problems)
    )
    assessor.assess(
        _turn(),
        NuggetSet(("Copper conducts heat.", "Tea is green.")),
        "Copper is better.",
        problems,
    )


def _turn() -> ReferenceTurn:
    return ReferenceTurn("Is copper better?", (), "Copper conducts heat better.", tuple(passages()))


def _cite(reply: str) -> None:
    known = {number: passage.id for number, passage in enumerate(passages(), 1)}
    checked = check_citations(reply, known)
    assert set(checked.citations) <= set(known.values())
    assert check_citations(checked.text, known).removed == 0


def _split(text: str) -> None:
    spans = find_sentence_spans(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    for start, end in spans:
        shorten_by_clauses(text[start:end], 8)


_NUGGETS = (
    """Copper conducts <IN>heat better than steel</IN>, so a copper kettle boils <IN>sooner</IN>."""
)
_QUOTED = '{"answered": "full", "spans": [{"passage": 1, "quote": "steam"}, {"passage": 2, "quote": "Green tea"}]}'

REPLY_READERS: dict[str, tuple[Check, list[str]]] = {
    "detector": (_detect, [_NUGGETS, "<IN>Green tea</IN> <IN><IN>nested</IN></IN>"]),
    "summarizer": (
        _summarize,
        ["Copper conducts heat better, which is why it boils sooner; steel does not."],
    ),
    "ginger": (_answer("ginger"), [_NUGGETS, "yes", '{"supported": false}']),
    "baseline": (_answer("baseline"), ["Copper is better [3], [9]. `items[0]`"]),
    "cot": (_answer("cot"), ["1. Pieces: heat [1]\n**4. Answer:** Copper is better [1]."]),
    "direct": (_answer("direct"), ["Copper is better [3], [9]. `items[0]`"]),
    "chat": (_answer("chat"), ["I'm ready to help!", "Copper is better [3]."]),
    "condense": (
        _rewrite("condense"),
        ["Standalone question: Is copper better than steel?", '"Is it?"'],
    ),
    "dhrag": (
        _rewrite("dhrag"),
        ["Is a copper kettle better than a steel one?", "Rewritten query: copper"],
    ),
    "mtrag": (_judge("mtrag", 0, 1), ['{"verdicts": [true, false]}', '{"reason": "x", "mark": 8}']),
    "judge": (
        _judge("judge", 1, 5),
        [
            '{"reason": "x", "scores": {"faithfulness": 4, "appropriateness": "5"}}',
            "```json\n{}\n```",
        ],
    ),
    "nugget_assessor": (
        _assess_nuggets,
        ['{"nuggets": ["Copper conducts heat."]}', '{"labels": ["support", "none"]}'],
    ),
    "citations": (_cite, ["Yes [1, 9]. No [2][3] `a[0]` ```b[1]```", f"[{'9' * 5000}]"]),
    "sentences": (
        _split,
        ['Dr. Smith went, e.g., home. He (who?) slept... 3.5 miles! "Yes." Mr. X.'],
    ),
    "retry_after": (
        parse_retry_after,
        ["3", "Wed, 21 Oct 2026 07:28:00 GMT", f"{'9' * 5000}", "1e999", "nan"],
    ),
}
