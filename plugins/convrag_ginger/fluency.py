"""Rephrases an answer as a whole, sentence by sentence, so that each sentence keeps its citations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from convrag import LLM, LLMError, PromptTemplate
from convrag.sdk.sentences import get_first_sentence
from convrag_ginger.attribution import Attributor, CitedSentence
from convrag_ginger.length_limit import LengthLimit, count_words
from convrag_ginger.summarizer import clean_sentence


class FluencyEditor:
    """Asks an LLM for a better wording of each sentence, and takes it where nothing is lost.

    The LLM is not shown the citations, so that it cannot lose them.

    Args:
        llm: the language model.
        template: the prompt for the task "fluency".
        sampling: of the call.
        attributor: checks whether the nuggets support the new wording.
        limit: of the whole answer.
        words: the most words of a sentence.
    """

    def __init__(
        self,
        llm: LLM,
        template: PromptTemplate,
        sampling: dict[str, Any],
        *,
        attributor: Attributor,
        limit: LengthLimit,
        words: int,
    ) -> None:
        self.llm = llm
        self.template = template
        self.sampling = sampling
        self.attributor = attributor
        self.limit = limit
        self.words = words

    def rephrase(self, question: str, sentences: Sequence[CitedSentence]) -> tuple[list[CitedSentence], str]:
        """One call of the LLM.

        Returns:
            As many sentences, and an empty string; or the same sentences, and why the reply was not used.
        """
        try:
            lines = self._ask(question, [sentence.text for sentence in sentences])
        except LLMError as error:
            return list(sentences), str(error)
        if len(lines) != len(sentences):
            return list(sentences), f"the reply has {len(lines)} lines for {len(sentences)} sentences"
        edited = list(sentences)
        for index, text in enumerate(lines):
            others = [sentence.text for sentence in (*edited[:index], *edited[index + 1 :])]
            words = min(self.words, self.limit.words - count_words(others))
            edited[index] = self._replace_text(sentences[index], text, words)
        return edited, ""

    def _ask(self, question: str, texts: Sequence[str]) -> list[str]:
        prompt = self.template.render(self.sampling, question=question, text="\n".join(texts))
        reply = self.llm.complete(prompt).text
        return [text for line in reply.splitlines() if (text := clean_sentence(line))]

    def _replace_text(self, old: CitedSentence, text: str, words: int) -> CitedSentence:
        """The sentence in a new wording with its old citations.

        The old sentence where the new wording has too many words, is several sentences, or loses its support.
        """
        if text == old.text or count_words([text]) > words or get_first_sentence(text) != text:
            return old
        new = self.attributor.attribute(text, old.cluster, old.nuggets)
        if old.supported and not new.supported:
            return old
        return replace(new, supporting=old.supporting, passages=old.passages)
