"""`rewriter=resolve`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from convrag import Query, Question, Rewrite, Rewriter, Turn
from convrag.sdk.sentences import LIBRARIES as SENTENCE_LIBRARIES
from convrag.sdk.stemming import LIBRARIES as STEMMING_LIBRARIES
from convrag_resolve.conversation import SaidSoFar
from convrag_resolve.resolution import resolve_references
from convrag_resolve.spacy_phrases import SpacyReader, find_problem, hash_pipeline


class ResolveRewriter(Rewriter):
    """Write out what a question refers to, by rules: "How high is it?" becomes "How high is the Eiffel Tower?".

    Pronouns, "that city", "the second one", "both", "there", "you mentioned X", "my first question", "why?" and "what
    about X?" are linked to what was said, each in the trace with its antecedent and turn. A question without such a
    reference stays as it is, word for word. Only English is resolved.

    `rewriter=resolve rewriter.then=mmr` has another rewriter go on from the resolved question.

    Salience follows Lappin and Leass (1994), "An algorithm for pronominal anaphora resolution", over turns in the place
    of sentences.

    Args:
        then: the rewriter that is given the resolved question, with the same history; none by default.
        pipeline: an installed spaCy pipeline, or the folder of one, that finds the noun phrases and names
            (`en_core_web_sm`; extra `spacy`). Default: rules.
    """

    libraries = (*SENTENCE_LIBRARIES, *STEMMING_LIBRARIES)

    def __init__(self, *, then: Rewriter | None = None, pipeline: str = "") -> None:
        self.then = then
        self.pipeline = pipeline
        self._reader = SpacyReader(pipeline) if pipeline else None

    def check(self) -> Iterator[str]:
        """Whether the spaCy pipeline is installed, if one is chosen."""
        if self.pipeline and (problem := find_problem(self.pipeline)):
            yield problem

    def content_hash(self) -> str:
        """A hash of the spaCy pipeline's release, or of its files; empty with rules."""
        return hash_pipeline(self.pipeline) if self.pipeline else ""

    def rewrite(self, question: Question) -> Rewrite:
        """The resolved question, and the queries that the next rewriter makes of it."""
        said = self._read_history(question.history, question.state(self))
        said.is_whole = len(question.history) == len(question.whole_history)
        resolution = resolve_references(question.text, said)
        trace: dict[str, Any] = {
            "resolved": resolution.text,
            "links": [link.describe() for link in resolution.links],
            "selected": list(dict.fromkeys(link.turn_id for link in resolution.links)),
        }
        if self.then is None:
            return Rewrite((Query(resolution.text),), trace)
        rewrite = self.then.rewrite(replace(question, text=resolution.text))
        return replace(rewrite, trace={**trace, **rewrite.trace})

    def _read_history(self, history: tuple[Turn, ...], memory: dict[str, Any]) -> SaidSoFar:
        """What was said so far; each turn is read once, unless the history is another one than before."""
        read: tuple[Turn, ...]
        said: SaidSoFar | None
        read, said = memory.get("read", ((), None))
        if said is None or history[: len(read)] != read:
            read, said = (), SaidSoFar(self._reader.read) if self._reader else SaidSoFar()
        for turn in history[len(read) :]:
            said.add_turn(turn, resolve_references(turn.question, said).text)
        memory["read"] = history, said
        return said
