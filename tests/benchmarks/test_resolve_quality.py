"""What resolving references without a language model is worth: the tables of docs/queries.md.

    pytest tests/benchmarks/test_resolve_quality.py -n 0 -s

The links themselves take seconds: how many follow-ups with a pronoun get one, and how many of the added words stand in
a rewrite by people (CAsT 2019) or by a model (MTRAG). Retrieval on MTRAG's pooled corpora is nDCG@5, history=gold, with
BM25 and MiniLM, whose indexes take minutes; CONVRAG_FUSION_STORE=FOLDER keeps them for the next time.
"""

# ruff: noqa: T201 - the figures are what benchmarks are for

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from convrag.api.types import Question, Turn
from convrag.config.compose import compose
from convrag.sdk.stemming import stem_words
from convrag.sdk.stop_words import ANAPHORS, is_stop_word
from convrag.turn.wiring import Wiring
from convrag_datasets.mtrag import MtragDataset
from convrag_resolve.rewriter import ResolveRewriter
from mtrag_retrieval import DOMAINS, RewrittenTurns, choose_minilm, find_rewrites, list_overrides

MODELS = ("claude", "mixtral")
REWRITERS = {
    "none": "none",
    "resolve": "resolve",
    "blend": "blend",
    "resolve then blend": "resolve",
    "mmr": "mmr",
    "resolve then mmr": "resolve",
    "auto": "auto",
    "resolve then auto": "resolve",
    "weighted_history": "weighted_history",
    "weighted over resolve": "weighted_history",
    "claude": "replay",
    "mixtral": "replay",
}
COMPARED = {
    "resolve": "none",
    "resolve then blend": "blend",
    "resolve then mmr": "mmr",
    "resolve then auto": "auto",
    "weighted over resolve": "weighted_history",
    "claude": "resolve",
    "mixtral": "resolve",
}
ENSEMBLES = {
    "none + resolve": "none",
    "blend + mmr": "",
    "blend + mmr + resolve": "blend + mmr",
    "auto + resolve": "auto",
}
"""Rewriters whose queries are searched for together, and what they are compared with."""


def stem_added(text: str, question: str) -> set[str]:
    """The stems of the content words that a text adds to a question."""
    words, own = (
        set(stem_words([word for word in re.findall(r"\w+", each.lower()) if not is_stop_word(word)]))
        for each in (text, question)
    )
    return words - own


def has_pronoun(question: str) -> bool:
    return any(word.lower() in ANAPHORS - {"one", "ones", "other", "others"} for word in re.findall(r"\w+", question))


def read_cast(folder: Path) -> Iterator[tuple[list[Turn], Mapping[str, str]]]:
    resolved = dict(
        line.split("\t")
        for line in (folder / "evaluation_topics_annotated_resolved_v1.0.tsv").read_text("utf-8").splitlines()
    )
    for topic in json.loads((folder / "evaluation_topics_v1.0.json").read_text("utf-8")):
        yield (
            [Turn(f"{topic['number']}_{turn['number']}", turn["raw_utterance"].strip()) for turn in topic["turn"]],
            resolved,
        )


def read_later_cast(path: Path, asked: str, answered: str = "") -> Iterator[tuple[list[Turn], Mapping[str, str]]]:
    """The topics of CAsT 2020 and 2022; in a branch of a tree, each turn counts once for every branch that has it."""
    for number, topic in enumerate(json.loads(path.read_text("utf-8"))):
        rows = [row for row in topic["turn"] if asked in row]
        turns = [Turn(f"{number}_{row['number']}", row[asked], row.get(answered) or "") for row in rows]
        yield turns, {turn.id: row["manual_rewritten_utterance"] for turn, row in zip(turns, rows, strict=True)}


def read_mtrag(folder: Path, domain: str, kind: str) -> Iterator[tuple[Sequence[Turn], Mapping[str, str]]]:
    rows = map(json.loads, find_rewrites(folder, domain, kind)[kind].read_text("utf-8").splitlines())
    written = {row["_id"]: row["text"].removeprefix("|user|: ") for row in rows}
    for conversation in MtragDataset(path=folder, domain=domain).conversations():
        yield conversation.turns, written


def print_links(name: str, conversations: Iterator[tuple[Sequence[Turn], Mapping[str, str]]]) -> float:
    """Print how good the links of some conversations are; return the precision of the added words."""
    rewriter = ResolveRewriter()
    pronouns = linked = changed = needless = right = added = lacking = followed = 0
    for turns, written in conversations:
        state: dict[object, dict[str, Any]] = {}
        for number, turn in enumerate(turns[1:], 2):
            asked = Question(
                turn.question, "c", turn.id, number=number, history=tuple(turns[: number - 1]), stage_state=state
            )
            rewrite = rewriter.rewrite(asked)
            if turn.id not in written:
                continue
            followed += 1
            pronouns += has_pronoun(turn.question)
            linked += has_pronoun(turn.question) and bool(rewrite.trace["links"])
            ours, theirs = (stem_added(text, turn.question) for text in (rewrite.text, written[turn.id]))
            changed += rewrite.text != turn.question
            needless += bool(ours) and not theirs
            right, added, lacking = right + len(ours & theirs), added + len(ours), lacking + len(theirs)
    print(
        f"{name:26s} {followed} follow-ups, {changed} changed; {linked} of {pronouns} with a pronoun linked;"
        f" added words: precision {right / added:.2f}, recall {right / lacking:.2f}; {needless} changed needlessly"
    )
    return right / added


def test_links(mtrag_path: Path) -> None:
    """The links beside rewrites of people and models."""
    precision = print_links("CAsT 2019, by people", read_cast(mtrag_path.parent / "cast" / "2019"))
    cast = mtrag_path.parent / "cast"
    print_links(
        "CAsT 2020, by people", read_later_cast(cast / "2020/2020_manual_evaluation_topics_v1.0.json", "raw_utterance")
    )
    path = cast / "2022/2022_evaluation_topics_flattened_duplicated_v1.0.json"
    print_links("CAsT 2022, by people", read_later_cast(path, "utterance", "response"))
    for domain in DOMAINS:
        for kind in MODELS:
            print_links(f"MTRAG {domain}, {kind}", read_mtrag(mtrag_path, domain, kind))
    assert precision > 0.6


class Domain:
    """What every rewriter makes of a domain's scored turns, and its retrievers."""

    def __init__(self, mtrag: Path, domain: str, store: Path) -> None:
        self._names = names = {name: f"r{number}" for number, name in enumerate(REWRITERS)}
        files = find_rewrites(mtrag, domain, *MODELS)
        wiring = Wiring(
            compose(
                *list_overrides(mtrag, domain, store),
                *choose_minilm(),
                "rewriter=ensemble",
                f"rewriter.of={{{', '.join(f'{names[name]}: {option}' for name, option in REWRITERS.items())}}}",
                *(f"rewriter.of.{names[name]}.path={path}" for name, path in files.items()),
                *(f"rewriter.of.{names[f'resolve then {name}']}.then={name}" for name in ("blend", "mmr", "auto")),
                f"rewriter.of.{names['weighted over resolve']}.standalone=resolve",
                "retriever=hybrid",
                "generator=none",
            )
        )
        hybrid = wiring.get("retriever")
        self.retrievers = {"BM25": hybrid.lexical, "MiniLM": hybrid.dense}
        self.turns = RewrittenTurns(wiring.get("rewriter"), wiring.get("dataset"), domain)

    def score(self, retriever: str, *rewriters: str) -> list[float]:
        """The nDCG@5 of each turn with the queries of these rewriters."""
        return self.turns.score(self.retrievers[retriever], dict.fromkeys((self._names[name] for name in rewriters), 1))


def test_retrieval(mtrag_path: Path, tmp_path: Path) -> None:
    """nDCG@5 on the pooled corpora, each beside what it is compared with."""
    store = Path(os.environ.get("CONVRAG_FUSION_STORE", tmp_path / "store"))
    for name in DOMAINS:
        domain = Domain(mtrag_path, name, store)
        for retriever in domain.retrievers:
            scores = {rewriter: domain.score(retriever, rewriter) for rewriter in REWRITERS}
            print(f"\n{name}, {retriever}, {len(domain.turns.conversations)} turns: nDCG@5, difference and p")
            for rewriter, found in scores.items():
                print_row(rewriter, found, domain, COMPARED.get(rewriter, ""), scores.get(COMPARED.get(rewriter, "")))
            for title, other in ENSEMBLES.items():
                scores[title] = domain.score(retriever, *title.split(" + "))
                print_row(title, scores[title], domain, other, scores.get(other))
            assert np.mean(scores["resolve"]) > np.mean(scores["none"])


def print_row(
    title: str, found: Sequence[float], domain: Domain, other: str = "", theirs: Sequence[float] | None = None
) -> None:
    row = f"  {title:26s} {np.mean(found):.3f}"
    if theirs is not None:
        row += (
            f"  {np.mean(found) - np.mean(theirs):+.3f} against {other} (p={domain.turns.compute_p(found, theirs):.3f})"
        )
    print(row, flush=True)
