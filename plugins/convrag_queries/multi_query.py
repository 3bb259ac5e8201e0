"""`rewriter=multi_query`: an ambiguous follow-up becomes several standalone readings, with weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from convrag import LLM, ConfigError, LLMError, PromptTemplate, Query, Question, Rewrite, Rewriter, use
from convrag.sdk.llm_rewriter import format_exchanges
from convrag.sdk.profiles import add_profile
from convrag_queries.ambiguity import Finding, find_readings


class MultiQueryRewriter(Rewriter):
    """Search for each reading of an ambiguous follow-up, by its weight: "Is it safe?" after "aspirin or ibuprofen?".

    A language model decides whether a question is ambiguous and writes its readings in the same request; what rules
    found is a hint in its prompt. Without a language model the rules decide alone. They know English: a pronoun or "the
    one" after things named side by side, listed, or asked about in the same way; "What about B?" where two earlier
    questions can be meant; a short question that names none of them. Each of these things then makes a reading.

    A question with one reading gives one query: the model's, or without one that of `base`. Where the model's reply
    cannot be used, the rules' readings are searched for, or the question as it stands; the record says why. The weights
    of readings add up to 1. Each has a source of its own, so that retriever=fused searches for it by itself. The first
    question of a conversation is searched for as it is. Source: the wish of the seed perplexity_style_multi_turn.md;
    the words of ambiguity are those of ClariQ (Aliannejadi et al. 2021), which asks the user instead.

    Args:
        llm: decides and writes, if it is a language model.
        base: rewrites questions with one reading where there is no language model: `rewriter.base=mmr`.
        readings: the most of them.
        exchanges: of the history in which the rules look for what may be meant; pronouns seldom point further back.
        short: content words below which a question without a reference is incomplete, by the rules, if it names
            nothing (3: what a standalone search question has, as for llm=extractive).
        prompt: a Jinja file to use instead of this package's readings.jinja; it is given `question`, `history` (a list
            of `user` and `assistant`, oldest first), `readings` (the most) and `candidates` (what the rules found).
        temperature: 0 gives the likeliest reply; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        ConfigError: a number is out of range.
        DataError: the prompt's file is missing or is no template.
    """

    libraries = ("json-repair", "pydantic")

    def __init__(
        self,
        *,
        llm: LLM,
        base: Rewriter = use("full_history"),
        readings: int = 3,
        exchanges: int = 2,
        short: int = 3,
        prompt: Path | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 400,
    ) -> None:
        if readings < 1 or exchanges < 1:
            raise ConfigError(f"rewriter.readings={readings} and rewriter.exchanges={exchanges}: at least 1")
        if short < 0:
            raise ConfigError(f"rewriter.short={short}: 0 or more words")
        self.llm = llm
        self.base = base
        self.readings = readings
        self.exchanges = exchanges
        self.short = short
        self.template = PromptTemplate("readings", package="convrag_queries", path=prompt)
        self.sampling = {"temperature": temperature, "max_tokens": max_tokens}
        self.prompt_templates = (self.template,)

    def rewrite(self, question: Question) -> Rewrite:
        """One call of a language model (two where its reply cannot be read); none for a first question."""
        finding = find_readings(question.text, question.history[-self.exchanges :], self.short)
        rules = _describe(finding)
        if not question.history and not question.profile:
            return Rewrite.of(question.text, ambiguous=False, by="rules", rules=rules)
        if self.llm.tasks is None:
            return self._ask(question, finding, rules)
        trace = {"by": "rules", "rules": rules}
        if finding.is_ambiguous:
            return self._rewrite_readings(question, self._choose(finding), trace | {"why": finding.why})
        rewrite = self.base.rewrite(question)
        return replace(rewrite, trace={"ambiguous": False, **trace, **rewrite.trace})

    def _rewrite_readings(
        self, question: Question, readings: Sequence[tuple[str, float]], trace: dict[str, Any]
    ) -> Rewrite:
        """The base's queries for each reading, by its weight."""
        rewrites = [self.base.rewrite(replace(question, text=text)) for text, _ in readings]
        queries = [
            replace(query, weight=query.weight * weight, source=f"reading{number}/{query.source}".rstrip("/"))
            for number, (rewrite, (_, weight)) in enumerate(zip(rewrites, readings, strict=True), 1)
            for query in rewrite.queries
        ]
        failed = "; ".join(dict.fromkeys(rewrite.fallback for rewrite in rewrites if rewrite.fallback))
        return Rewrite(tuple(queries), {"ambiguous": True, **trace, "readings": _list(readings)}, failed)

    def _ask(self, question: Question, finding: Finding, rules: dict[str, Any]) -> Rewrite:
        """The readings of the language model; those of the rules, or the question, where its reply is not usable."""
        from convrag.sdk.structured_output import ask_json
        from convrag_queries.reply import ReadingsReply

        prompt = self.template.render(
            self.sampling,
            question=question.text,
            history=format_exchanges(question.history),
            readings=self.readings,
            candidates=list(finding.candidates) if finding.is_ambiguous else [],
        )
        trace: dict[str, Any] = {"by": "language model", "rules": rules, "prompt": self.template.hash}
        try:
            reply = ask_json(self.llm, add_profile(prompt, question.profile), ReadingsReply)
        except LLMError as error:
            return self._fall_back(question, finding, trace, str(error))
        if not (readings := reply.weigh_readings(question.text, self.readings)):
            return self._fall_back(question, finding, trace, "the reply holds no question")
        return _search(readings, trace | {"why": reply.why})

    def _fall_back(self, question: Question, finding: Finding, trace: dict[str, Any], reason: str) -> Rewrite:
        trace = trace | {"by": "rules"}
        if finding.is_ambiguous:
            return replace(_search(self._choose(finding), trace | {"why": finding.why}), fallback=reason)
        return Rewrite.of(question.text, fallback=reason, ambiguous=False, **trace)

    def _choose(self, finding: Finding) -> list[tuple[str, float]]:
        """The rules' readings, at most `readings`, with weights that add up to 1."""
        kept = finding.readings[: self.readings]
        total = sum(reading.weight for reading in kept)
        return [(each.text, each.weight / total) for each in kept]


def _list(readings: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    return [{"question": text, "weight": round(weight, 4)} for text, weight in readings]


def _search(readings: Sequence[tuple[str, float]], trace: dict[str, Any]) -> Rewrite:
    """Queries for readings, heaviest first. A single reading is one plain query."""
    if len(readings) == 1:
        return Rewrite.of(readings[0][0], ambiguous=False, **trace)
    queries = [Query(text, weight, source=f"reading{n}") for n, (text, weight) in enumerate(readings, 1)]
    return Rewrite(tuple(queries), {"ambiguous": True, **trace, "readings": _list(readings)})


def _describe(finding: Finding) -> dict[str, Any]:
    """What the rules found, for the trace."""
    described: dict[str, Any] = {"ambiguous": finding.is_ambiguous, "reason": finding.reason}
    if finding.why:
        described["why"] = finding.why
    if finding.candidates:
        described["candidates"] = list(finding.candidates)
    return described
