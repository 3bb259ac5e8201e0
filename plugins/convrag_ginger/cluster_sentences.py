"""Sentences for the best clusters, each supported by the cluster's nuggets, and their rewording."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from convrag import LLM, LLMError, Nugget, PromptTemplate, Summarizer
from convrag.sdk.llm.prompts import complete_whole
from convrag.sdk.text.clauses import shorten_by_clauses
from convrag.sdk.text.sentences import get_first_sentence
from convrag.sdk.text.windows import clean_quote
from convrag_ginger.attribution import Attributor, CitedSentence
from convrag_ginger.clusters import Cluster
from convrag_ginger.length_limit import LengthLimit, count_words
from convrag_ginger.summarizer import clean_sentence

Unsupported = Literal["reduce", "drop", "keep"]
"""The treatment of a sentence that its nuggets do not support; see GingerGenerator."""


class WrittenSentences(NamedTuple):
    """The sentences of an answer.

    Args:
        sentences: one for each cluster that gave one.
        reduced: how many were replaced by a quotation.
        left_out: how many clusters gave none.
    """

    sentences: list[CitedSentence]
    reduced: int
    left_out: int


@dataclass
class SentenceWriter:
    """Writes a sentence for each of the best clusters, and rephrases them.

    GingerGenerator describes the parameters.
    """

    summarizer: Summarizer
    attributor: Attributor
    limit: LengthLimit
    words: int
    clusters: int | None
    unsupported: Unsupported
    llm: LLM
    template: PromptTemplate
    sampling: dict[str, Any]

    def write(
        self,
        query: str,
        nuggets: Sequence[Nugget],
        clusters: Sequence[Cluster],
        order: Sequence[int],
        shares: Mapping[Nugget, float],
    ) -> WrittenSentences:
        """Write the sentences, until the limit is reached; each text once.

        Args:
            query: the question.
            nuggets: all nuggets, which the clusters name by their positions.
            clusters: the clusters.
            order: their positions, best first.
            shares: nugget -> share of the query; where given, the best nugget of a cluster is
                quoted.
        """
        sentences: dict[str, CitedSentence] = {}
        reduced = left_out = 0
        for index in order[: self.clusters]:
            if len(sentences) == self.limit.sentences:
                break
            room = self.limit.words - count_words(sentences)
            sentence, is_reduced = self._summarize(
                query, index, clusters[index], nuggets, room, shares
            )
            reduced += is_reduced
            left_out += sentence is None
            if sentence is None or sentence.text in sentences:
                continue
            if count_words([sentence.text]) > room:
                break
            sentences[sentence.text] = sentence
        return WrittenSentences(list(sentences.values()), reduced, left_out)

    def _summarize(
        self,
        query: str,
        index: int,
        cluster: Cluster,
        nuggets: Sequence[Nugget],
        room: int,
        shares: Mapping[Nugget, float],
    ) -> tuple[CitedSentence | None, bool]:
        """Summarise a cluster, or quote a sentence of it; also tell whether a summary was reduced.

        None where neither is supported.
        """
        members = [nuggets[member] for member in cluster.members]
        representatives = [merged.nugget for merged in cluster.nuggets]
        if shares:
            representatives = [max(representatives, key=lambda nugget: shares.get(nugget, 0.0))]
        summary = get_first_sentence(self.summarizer.summarize(query, representatives, self.words))
        text = shorten_by_clauses(summary, self.words)
        if text:
            sentence = self.attributor.attribute(text, index, members)
            if sentence.supported or self.unsupported == "keep":
                return sentence, False
            if self.unsupported == "drop":
                return None, False
        for quote in _quote(representatives, self.words, room):
            sentence = self.attributor.attribute(quote, index, members)
            if sentence.supported:
                return sentence, bool(text)
        return None, False

    def rephrase(
        self, question: str, sentences: Sequence[CitedSentence]
    ) -> tuple[list[CitedSentence], str]:
        """Ask the LLM once for a better wording of each sentence; use it where nothing is lost.

        It does not see the citations, so that it cannot lose them.

        Returns:
            As many sentences, and an empty string; or the same sentences, and why the reply was not
            used.
        """
        try:
            lines = self._ask(question, [sentence.text for sentence in sentences])
        except LLMError as error:
            return list(sentences), str(error)
        if len(lines) != len(sentences):
            reason = f"the reply has {len(lines)} lines for {len(sentences)} sentences"
            return list(sentences), reason
        edited = list(sentences)
        for index, text in enumerate(lines):
            others = [sentence.text for sentence in (*edited[:index], *edited[index + 1 :])]
            words = min(self.words, self.limit.words - count_words(others))
            edited[index] = self._replace_text(sentences[index], text, words)
        return edited, ""

    def _ask(self, question: str, texts: Sequence[str]) -> list[str]:
        text = "\n".join(texts)
        prompt = self.template.render(self.sampling, question=question, text=text)
        reply = complete_whole(self.llm, prompt, 2 * self.llm.count_tokens(text))
        return list(filter(None, map(clean_sentence, reply.splitlines())))

    def _replace_text(self, old: CitedSentence, text: str, words: int) -> CitedSentence:
        """Return the sentence in a new wording with its old citations.

        The old sentence stays where the new wording has too many words, is several sentences, or
        loses its support.
        """
        if text == old.text or count_words([text]) > words or get_first_sentence(text) != text:
            return old
        new = self.attributor.attribute(text, old.cluster, old.nuggets)
        if old.supported and not new.supported:
            return old
        return replace(new, supporting=old.supporting, passages=old.passages)


def _quote(nuggets: Sequence[Nugget], words: int, room: int) -> Iterator[str]:
    """Quote the first sentence of each nugget.

    Those that have `words` words, maybe shortened by clauses, come first; then those that fit the
    room.
    """
    sentences = [get_first_sentence(clean_quote(nugget.text)) for nugget in nuggets]
    for sentence in sentences:
        shortened = shorten_by_clauses(sentence, words)
        if shortened:
            yield shortened
    for sentence in sentences:
        if words < count_words([sentence]) <= room:
            yield sentence
