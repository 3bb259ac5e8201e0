"""`rewriter=blend`: the question and, with small weights, the utterances before it."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Interval

from convrag import Query, Question, Rewrite, Rewriter
from convrag.sdk.text.analysis import split_words
from convrag_rewriters.utterances import compute_vector_length, list_utterances


@dataclass(kw_only=True, eq=False)
class BlendRewriter(Rewriter):
    """Search for the question and, with small weights, for the last questions and answers.

    This is Rocchio's formula, with earlier utterances in the place of relevant passages: the vector
    of the query is the question plus a weighted mean of the utterances' vectors, which the
    retriever adds up in its own way. All vectors are scaled to the length of the question's: a text
    of n different words of equal weight has a vector of length sqrt(n), so its weight is divided by
    that. So a long answer counts no more than a short question, no words are selected, and the
    rarity of words is left to the retriever. No LLM is called.

    Args:
        weight: the weight of all earlier utterances together; the question's is 1.
        decay: the weight of an exchange as a share of that of the exchange after it.
        exchanges: how many of the last exchanges are used; with decay=.5 a fifth would have less
            than a thirtieth of their weight.
    """

    weight: Annotated[float, Gt(0)] = 0.5
    decay: Annotated[float, Interval(gt=0, le=1)] = 0.5
    exchanges: Annotated[int, Ge(1)] = 4

    def rewrite(self, question: Question) -> Rewrite:
        """Return the question, then the utterances, newest exchange first."""
        turns = question.history[: -self.exchanges - 1 : -1]
        utterances = list_utterances(turns, split_words, self.decay)
        total = sum(utterance.share for utterance in utterances)
        question_length = compute_vector_length(split_words(question.text)) or 1.0
        queries = [Query(question.text)]
        for text, words, share in utterances:
            relative_length = compute_vector_length(words) / question_length
            queries.append(Query(text, self.weight * share / total / relative_length))
        return Rewrite(tuple(queries), {"selected": [turn.id for turn in reversed(turns)]})
