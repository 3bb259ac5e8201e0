"""What retriever=carry does to rankings, by turn, on MTRAG's pools; and what it could do on CAsT.

    python benchmarks/quality/carried_passages.py ../shared/data retriever.base=bm25

The history is the published one: a turn carries the passages that the published answers of the last
three turns are based on, as if all citations had been right. The reranker
scores the words of the rewrite and 10 passages (reranker=bm25). Differences have 95 % intervals of a bootstrap
over conversations. CAsT's passages are not here, so only the share of turns is counted to which an
earlier canonical result is relevant. What follows the folder are overrides.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from convrag import Dataset, Question, Ranker, Rewriter
from convrag.config.compose import compose
from convrag.turn.turn import rank_hits, sort_hits
from convrag.turn.wiring import Wiring
from convrag_retrieval.carry import CarryRetriever
from mtrag_retrieval import DOMAINS, TOP, ask_scored_turns, compute_ndcg

REWRITERS = ("none", "last_n")
RERANKERS = ("none", "bm25")
DEPTH = 10
POSITIONS = {"all": (1, 99), "2": (2, 2), "3-4": (3, 4), "5-9": (5, 99)}


class Scored(NamedTuple):
    """The scores of a turn without and with carried passages."""

    conversation: str
    number: int
    recall: tuple[float, float]
    ndcg: tuple[float, float]


class Searching:
    """The stages that search, for one configuration."""

    def __init__(self, *overrides: str) -> None:
        wiring = Wiring(compose("retriever=carry", "tracker=none", *overrides))
        self.dataset: Dataset = wiring.get("dataset")
        self.rewriter: Rewriter = wiring.get("rewriter")
        self.retriever: CarryRetriever = wiring.get("retriever")
        self.reranker: Ranker = wiring.get("reranker")
        wiring.check()
        wiring.prepare()

    def rank(self, question: Question, *, carries: bool) -> list[str]:
        """Return the first ids for a rewritten question, with or without carried passages."""
        retriever = self.retriever if carries else self.retriever.base
        found = retriever.find_candidates(question, question.queries, DEPTH)
        candidates = (*found.hits, *found.contenders)
        ranking = rank_hits(self.reranker, question, candidates)
        best = sort_hits(candidates, ranking)[: len(found.hits)]
        return [hit.passage.id for hit in best[:TOP]]


def score_turns(stages: Searching, domain: str) -> Iterator[Scored]:
    """Score the judged turns of a domain."""
    qrels = stages.dataset.qrels()
    for asked, turn in ask_scored_turns(stages.dataset, domain):
        queries = stages.rewriter.rewrite(asked).queries
        complete = tuple(replace(query, turn_id=turn.id, domain=domain) for query in queries)
        question = replace(asked, standalone=queries[0].text, queries=complete)
        grades = qrels[turn.id]
        relevant = {id_ for id_, grade in grades.items() if grade > 0}
        rankings = [stages.rank(question, carries=carries) for carries in (False, True)]
        recalls = [len(relevant.intersection(ranking)) / len(relevant) for ranking in rankings]
        gains = [compute_ndcg(ranking, grades) for ranking in rankings]
        yield Scored(
            asked.conversation_id, asked.number, (recalls[0], recalls[1]), (gains[0], gains[1])
        )


def describe(rows: Sequence[Scored], measure: str) -> str:
    """Format a measure's means without and with carrying, and the interval of the difference."""
    pairs = np.array([getattr(row, measure) for row in rows])
    differences = pairs[:, 1] - pairs[:, 0]
    names = np.array([row.conversation for row in rows])
    groups = [np.flatnonzero(names == name) for name in dict.fromkeys(names)]
    generator = np.random.default_rng(0)
    means = []
    for _ in range(2000):
        drawn = generator.integers(len(groups), size=len(groups))
        means.append(differences[np.concatenate([groups[place] for place in drawn])].mean())
    low, high = np.percentile(means, [2.5, 97.5])
    before, after = pairs.mean(axis=0)
    return f"{before:.3f} -> {after:.3f} ({after - before:+.3f}, {low:+.3f} to {high:+.3f})"


def count_reachable(dataset: Dataset, domain: str) -> str:
    """Count the judged follow-ups to which a passage of the last three turns is relevant."""
    qrels = dataset.qrels()
    reachable = 0
    turns = 0
    for question, turn in ask_scored_turns(dataset, domain):
        relevant = {id_ for id_, grade in qrels[turn.id].items() if grade > 0}
        if not relevant or question.number == 1:
            continue
        earlier: set[str] = set()
        for each in question.history[-3:]:
            earlier.update(passage.id for passage in each.passages)
            earlier.update(each.labels.get("provenance", ()))  # CAsT's canonical result
        turns += 1
        if relevant & earlier:
            reachable += 1
    return f"{domain}: {reachable} of {turns} follow-ups"


def main(data: Path, overrides: Sequence[str]) -> None:
    """Print the tables."""
    out = sys.stdout.write
    cast = Wiring(compose("dataset=cast", f"dataset.path={data}/cast", "dataset.year=2020"))
    out(f"CAsT 2020 {count_reachable(cast.get('dataset'), 'default')}\n")
    for domain in DOMAINS:
        mtrag = Wiring(compose(*choose_data(data, domain)))
        out(f"MTRAG {count_reachable(mtrag.get('dataset'), domain)}\n")
    for rewriter in REWRITERS:
        for reranker in RERANKERS:
            rows: list[Scored] = []
            chosen = (f"rewriter={rewriter}", f"reranker={reranker}", *overrides)
            for domain in DOMAINS:
                rows += score_turns(Searching(*choose_data(data, domain), *chosen), domain)
            for label, (first, last) in POSITIONS.items():
                some = [row for row in rows if first <= row.number <= last]
                recall, ndcg = (describe(some, measure) for measure in ("recall", "ndcg"))
                out(f"{rewriter:8}{reranker:10}{label:5}{len(some):5}  R {recall}  nDCG {ndcg}\n")
                sys.stdout.flush()


def choose_data(data: Path, domain: str) -> list[str]:
    """List the overrides that choose a domain of MTRAG."""
    return ["dataset=mtrag", f"dataset.path={data}/mtrag", f"dataset.domain={domain}"]


if __name__ == "__main__":
    main(Path(sys.argv[1]).expanduser().resolve(), sys.argv[2:])
