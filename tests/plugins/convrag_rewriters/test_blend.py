import math
from collections.abc import Mapping

import pytest
from hypothesis import given, strategies as st

from convrag import LLM, Completion, Prompt, Question, Turn
from convrag.testing import RewriterContract
from convrag_rewriters.baselines import NoRewriter
from convrag_rewriters.blend import BlendRewriter


class Wordless(LLM):
    """No language model, and without a rule for rewriting."""

    tasks = frozenset()

    def complete(self, prompt: Prompt) -> Completion:
        raise AssertionError(prompt.task)

    def count_tokens(self, text: str) -> int:
        return 0


class TestBlend(RewriterContract):
    def make(self) -> BlendRewriter:
        return BlendRewriter()


def turns(*texts: tuple[str, str]) -> tuple[Turn, ...]:
    return tuple(
        Turn(f"c<::>{n}", question, answer) for n, (question, answer) in enumerate(texts, start=1)
    )


def weights(question: str, history: tuple[Turn, ...], **options: float) -> dict[str, float]:
    rewrite = BlendRewriter(**options).rewrite(Question(question, history=history))  # type: ignore[arg-type]
    return {query.text: query.weight for query in rewrite.queries}


def test_texts_of_one_length_share_the_weight_by_age() -> None:
    found = weights("a b c d", turns(("e f g h", "i j k l"), ("m n o p", "q r s t")))
    assert list(found) == ["a b c d", "m n o p", "q r s t", "e f g h", "i j k l"]
    assert found == pytest.approx(
        {
            "a b c d": 1,
            "m n o p": 0.5 / 3,
            "q r s t": 0.5 / 3,
            "e f g h": 0.25 / 3,
            "i j k l": 0.25 / 3,
        }
    )


def test_a_long_answer_speaks_no_louder_than_a_short_question() -> None:
    long = " ".join(f"word{n}" for n in range(64))
    found = weights("a b c d", turns(("e f g h", long)))
    assert found[long] == pytest.approx(found["e f g h"] / 4)


def test_repeated_words_and_case_do_not_lengthen_a_text() -> None:
    assert weights("a b", turns(("C d", "c D c d!")))["c D c d!"] == pytest.approx(0.25)


def test_only_recent_exchanges_and_texts_with_words_count() -> None:
    history = turns(("old", "older"), ("two", ""), ("?!", "four"))
    rewrite = BlendRewriter(exchanges=2).rewrite(Question("now", history=history))
    assert [query.text for query in rewrite.queries] == ["now", "four", "two"]
    assert rewrite.trace["selected"] == ["c<::>2", "c<::>3"]
    assert (
        BlendRewriter().rewrite(Question("now")).queries
        == NoRewriter().rewrite(Question("now")).queries
    )


words = st.lists(st.sampled_from("abcdefgh"), max_size=8).map(" ".join)


@given(words.filter(bool), st.lists(st.tuples(words, words), max_size=6))
def test_the_history_weighs_half_as_much_as_the_question(
    question: str, said: list[tuple[str, str]]
) -> None:
    queries = BlendRewriter().rewrite(Question(question, history=turns(*said))).queries
    length = {query: math.sqrt(len(set(query.text.split()))) for query in queries}
    assert queries[0].text == question
    shares = sum(query.weight * length[query] for query in queries[1:]) / length[queries[0]]
    assert shares == pytest.approx(0.5 if len(queries) > 1 else 0)


def ndcg(ids: list[str], grades: Mapping[str, int]) -> float:
    gain = sum(1 / math.log2(rank + 2) for rank, id_ in enumerate(ids) if grades.get(id_))
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(5, len(grades))))
