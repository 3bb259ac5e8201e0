"""Rewriting without a language model on MTRAG's pools: rules, history, and plain Rocchio."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log
from typing import Any

import ir_measures
import numpy as np

from convrag import Query, Question, Retriever, Turn
from convrag.config.compose import compose
from convrag.turn.wiring import Wiring
from convrag_compare.significance import compute_sign_flip_p
from options import Options
from pages import make_table

DOMAINS = ("clapnq", "cloud")
NDCG = ir_measures.nDCG @ 5

RULES = {
    "the last question (`none`)": ("none", {}),
    "questions of the last exchange and this one (`last_n`, n=1)": ("last_n", {"n": 1}),
    "questions of the last two exchanges and this one (`last_n`)": ("last_n", {"n": 2}),
    "all questions (`all_questions`)": ("all_questions", {}),
    "all questions and answers (`last_n`, n=99, answers)": ("last_n", {"n": 99, "answers": True}),
    "convrag's `blend`": ("blend", {}),
    "convrag's `weighted_history`": ("weighted_history", {}),
    "convrag's `auto`, the default": ("auto", {}),
}
OURS = "convrag's `auto`, the default"
ROCCHIO = "plain Rocchio on the last question's passages"

Rewriting = Callable[[Question], Sequence[Query]]


class PlainRocchio:
    """Rocchio's formula without judgements: the question, and words of the passages it finds.

    The textbook's values: 10 passages, 20 words, beta .75. The words are those with the largest
    share of the passages' words times idf. A word's weight is its share, and the retriever weighs
    it by its rarity, as it does the question's.

    Args:
        retriever: finds the passages.
        texts: of the corpus, for the words' idf.
    """

    def __init__(self, retriever: Retriever, texts: Sequence[str]) -> None:
        self._retriever = retriever
        self._passages = len(texts)
        self._having = Counter(word for text in texts for word in set(_split(text)))

    def expand(self, question: Question) -> Sequence[Query]:
        """Return the question, and 20 words whose weights add up to .75 times its number of words."""
        hits = self._retriever.retrieve([_query(question, question.text)], 10)
        shares: Counter[str] = Counter()
        for hit in hits:
            words = _split(hit.passage.content)
            shares.update({word: count / len(words) for word, count in Counter(words).items()})
        rare = {
            word: share * log(self._passages / self._having[word]) for word, share in shares.items()
        }
        best = sorted(rare, key=lambda word: -rare[word])[:20]
        scale = 0.75 * len(_split(question.text)) / (sum(shares[word] for word in best) or 1)
        added = [_query(question, word, scale * shares[word]) for word in best]
        return [_query(question, question.text), *added]


def measure(options: Options) -> dict[str, Any]:
    """Measure nDCG@5 of each rule with BM25, and p against `auto`, by conversation.

    The history has approved answers.

    Returns:
        `rules`: the rule's name -> domain -> nDCG@5, `p` on all domains together; `turns` by
            domain.
    """
    if not options.mtrag:
        raise SystemExit("rewriting: name MTRAG's folder, --mtrag PATH")
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for domain in DOMAINS[:1] if options.small else DOMAINS:
        for name, by_turn in _measure_domain(options, domain).items():
            scores.setdefault(name, {})[domain] = by_turn
    found = {}
    for name, by_domain in scores.items():
        means = {
            domain: round(float(np.mean(list(turns.values()))), 4)
            for domain, turns in by_domain.items()
        }
        found[name] = means | (
            {} if name == OURS else {"p": round(_compute_p(scores[OURS], by_domain), 4)}
        )
    return {"rules": found, "turns": {domain: len(turns) for domain, turns in scores[OURS].items()}}


def _measure_domain(options: Options, domain: str) -> dict[str, dict[str, float]]:
    data = [
        "dataset=mtrag",
        f"dataset.path={options.mtrag}",
        f"dataset.domain={domain}",
        "history=gold",
    ]
    base = [*data, "generator=none", "tracker=none", f"store.path={options.scratch / 'store'}"]
    wiring = Wiring(compose(*base))
    dataset, retriever = wiring.get("dataset"), wiring.get("retriever")
    rewritings: dict[str, Rewriting] = {}
    for name, (option, parameters) in RULES.items():
        chosen = [
            f"rewriter={option}",
            *(f"rewriter.{key}={value}" for key, value in parameters.items()),
        ]
        rewriter = Wiring(compose(*base, *chosen)).get("rewriter")
        rewritings[name] = lambda question, rewriter=rewriter: rewriter.rewrite(question).queries  # type: ignore[misc]
    rewritings[ROCCHIO] = PlainRocchio(
        retriever, [passage.content for passage in dataset.corpus(domain)]
    ).expand
    qrels = {turn: dict(grades) for turn, grades in dataset.qrels().items()}
    runs: dict[str, dict[str, dict[str, float]]] = {name: {} for name in rewritings}
    for question in _list_questions(dataset, domain):
        if question.turn_id in qrels:
            for name, rewrite in rewritings.items():
                hits = retriever.retrieve(
                    [_place(question, query) for query in rewrite(question)], 5
                )
                runs[name][question.turn_id] = {
                    hit.passage.id: -place for place, hit in enumerate(hits)
                }
    asked = {turn: qrels[turn] for turn in runs[OURS]}
    measured = {name: ir_measures.iter_calc([NDCG], asked, run) for name, run in runs.items()}
    return {
        name: {each.query_id: each.value for each in values} for name, values in measured.items()
    }


def _list_questions(dataset: Any, domain: str) -> list[Question]:
    found = []
    for talk in dataset.conversations():
        history: tuple[Turn, ...] = ()
        state: dict[object, dict[str, Any]] = {}
        for number, turn in enumerate(talk.turns, 1):
            found.append(
                Question(
                    turn.question, talk.id, turn.id, domain, number, history, stage_state=state
                )
            )
            history = (*history, turn)
    return found


def _compute_p(ours: dict[str, dict[str, float]], theirs: dict[str, dict[str, float]]) -> float:
    totals: Counter[str] = Counter()
    for domain, turns in ours.items():
        for turn, value in turns.items():
            totals[f"{domain}/{turn.split('<::>')[0]}"] += value - theirs[domain][turn]  # type: ignore[assignment]
    return compute_sign_flip_p(np.array(list(totals.values()), dtype=float).reshape(-1, 1))[0]


def _place(question: Question, query: Query) -> Query:
    return replace(query, turn_id=question.turn_id, domain=question.domain)


def _query(question: Question, text: str, weight: float = 1.0) -> Query:
    return Query(text, weight, turn_id=question.turn_id, domain=question.domain)


def _split(text: str) -> list[str]:
    return re.findall(r"(?u)\b\w\w+\b", text.lower())


def format_result(measured: dict[str, Any]) -> str:
    """Make a table, the best rule first."""
    turns = measured["turns"]
    rows = sorted(
        measured["rules"].items(), key=lambda row: -sum(row[1][domain] for domain in turns)
    )
    cells = [
        [name, *(f"{row[d]:.3f}" for d in turns), f"{row['p']:.4f}" if "p" in row else ""]
        for name, row in rows
    ]
    heading = [
        "nDCG@5, BM25",
        *(f"{domain}, {count} turns" for domain, count in turns.items()),
        "p against `auto`",
    ]
    return make_table(heading, cells)
