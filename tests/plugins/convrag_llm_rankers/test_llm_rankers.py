"""`ranker=llm` and `llm_listwise`: language models that rank passages and see the conversation."""

import json
import random
import re
from math import log
from typing import Any

import pytest

from convrag.api.completions import Completion, Prompt
from convrag.api.conversations import Question, Turn
from convrag.api.errors import ConfigError, LLMError
from convrag.api.passages import Hit, Passage
from convrag.api.records import TurnRecord
from convrag.testing import RankerContract, RecordedLLM
from convrag.turn.turn import rank_hits
from convrag_llm_rankers.conversation_ranker import describe_question
from convrag_llm_rankers.listwise import ListwiseRanker
from convrag_llm_rankers.pointwise import LLMRanker
from llm_client import every_option, make_client
from llm_server import Server, make_reply

TEXTS = [
    "Rust is a fungus of wheat.",
    "Ferris is the crab of Rust.",
    "Iron rusts.",
    "Rust has a borrow checker.",
]
FOLLOW_UP = Question(
    "What is its mascot?",
    history=(Turn("c<::>1", "What is Rust?", "A language without a garbage collector."),),
    standalone="What is the mascot of Rust?",
)


class Probable(RecordedLLM):
    """Knows how likely "yes" is for a passage, and tells it where `tells`."""

    tells = True

    def complete(self, prompt: Prompt) -> Completion:
        self.prompts.append(prompt)
        if not self.tells and "logprobs" in prompt.sampling:
            raise LLMError("logprobs is not supported", status=400)
        likely = next(
            value for part, value in self.replies.items() if part in prompt.messages[-1].content
        )
        if "logprobs" not in prompt.sampling:
            return Completion(json.dumps({"grade": round(10 * float(likely))}))
        return Completion(
            "yes",
            first_words={" Yes": log(float(likely)), "No": log(1 - float(likely)), "well": -9.0},
        )


LIKELY = {"fungus": "0.1", "Ferris": "0.9", "Iron": "0.2", "borrow": "0.6"}


class TestLLMRanker(RankerContract):
    def make(self) -> LLMRanker:
        return LLMRanker(llm=RecordedLLM(replies={"": '{"grade": 3}'}), scale="grade")


class TestListwiseRanker(RankerContract):
    def make(self) -> ListwiseRanker:
        return ListwiseRanker(llm=RecordedLLM(replies={"": "[1] > [2]"}))


def test_the_probability_of_yes_beside_no() -> None:
    llm = Probable(replies=LIKELY)
    assert LLMRanker(llm=llm).score("Rust's mascot?", TEXTS).tolist() == pytest.approx(
        [0.1, 0.9, 0.2, 0.6]
    )
    assert {prompt.sampling["max_tokens"] for prompt in llm.prompts} == {1}


def test_grades_where_the_server_tells_no_probabilities_which_is_asked_once() -> None:
    llm = Probable(replies=LIKELY)
    llm.tells = False
    ranker = LLMRanker(llm=llm)
    for query in ("Rust's mascot?", "And its logo?"):
        assert ranker.score(query, TEXTS).tolist() == [0.1, 0.9, 0.2, 0.6]
    assert sum("logprobs" in prompt.sampling for prompt in llm.prompts) == 1
    with pytest.raises(LLMError, match="not supported"):
        LLMRanker(llm=llm, scale="probability").score("q", TEXTS)


def test_texts_that_are_not_shown_follow_in_their_order() -> None:
    for ranker in (
        LLMRanker(llm=Probable(replies=LIKELY), depth=2),
        ListwiseRanker(llm=RecordedLLM(replies={"": "[2] > [1]"}), depth=2),
    ):
        scores = ranker.score("Rust's mascot?", TEXTS)
        assert sorted(range(4), key=lambda place: -scores[place]) == [1, 0, 2, 3]


@pytest.mark.parametrize("make", [LLMRanker, ListwiseRanker])
def test_the_model_sees_the_conversation(make: Any) -> None:
    llm = RecordedLLM(replies={"<passage>": '{"grade": 5}', "": "[2] > [1]"})
    ranker = make(llm=llm, turns=1, **({"scale": "grade"} if make is LLMRanker else {}))
    rank_hits(
        ranker, FOLLOW_UP, tuple(Hit(Passage(str(n), text), 1.0) for n, text in enumerate(TEXTS))
    )
    said = llm.prompts[0].messages[-1].content
    assert re.search(
        r"User: What is Rust\?\nAssistant: A lang.*\nUser: What is its mascot\?\n\(by itself: Wh",
        said,
    )
    assert describe_question(FOLLOW_UP, 0) == "What is the mascot of Rust?"


def test_windows_slide_from_the_end_as_in_rankgpt() -> None:
    """An own computation of the published procedure, over a judge who knows the right order of each
    window.
    """
    chance = random.Random(5)
    texts = [f"passage {number:02}" for number in range(47)]
    worth = {text: chance.random() for text in texts}
    calls = []

    class Judge(RecordedLLM):
        def complete(self, prompt: Prompt) -> Completion:
            shown = prompt.inputs["passages"]
            calls.append(shown)
            best = sorted(range(len(shown)), key=lambda place: -worth[shown[place]])
            return Completion(" > ".join(f"[{place + 1}]" for place in best))

    scores = ListwiseRanker(llm=Judge(replies={}), window=20, step=10).score("q", texts)
    expected, end = list(texts), len(texts)
    windows = []
    while True:
        start = max(0, end - 20)
        windows.append(expected[start:end])
        expected[start:end] = sorted(expected[start:end], key=lambda text: -worth[text])
        if start == 0:
            break
        end -= 10
    assert calls == windows
    assert [
        texts[place] for place in sorted(range(47), key=lambda place: -scores[place])
    ] == expected


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("[2] > [1] > [4] > [3]", [1, 0, 3, 2]),
        ("2, 4", [1, 3, 0, 2]),
        ("[2] > [2] > [17] > [0] > [3]", [1, 2, 0, 3]),
        ("I cannot rank these.", [0, 1, 2, 3]),
    ],
)
def test_what_a_reply_forgets_or_invents_is_repaired_and_counted(
    reply: str, order: list[int]
) -> None:
    llm = RecordedLLM(replies={"": reply})
    ranker = ListwiseRanker(llm=llm)
    scores = ranker.score("q", TEXTS)
    assert sorted(range(4), key=lambda place: -scores[place]) == order
    report = ranker.report(
        [TurnRecord("c", "c<::>1", "d", 1, "q", replies=((llm.prompts[0], Completion(reply)),))]
    )
    assert (report is None) == (reply == "[2] > [1] > [4] > [3]")
    assert report is None or report.lines == (
        "1 of 1 orders repeated, invented or forgot passages.",
    )


@every_option
def test_a_server_s_probabilities_reach_the_ranker(server: Server) -> None:
    body = make_reply("yes")
    told = [{"token": "yes", "logprob": log(0.6)}, {"token": " No", "logprob": log(0.2)}]
    body["choices"][0]["logprobs"] = {
        "content": [{"token": "yes", "logprob": log(0.6), "top_logprobs": told}]
    }
    server.plan_replies(body)
    assert LLMRanker(llm=make_client(server)).score("q", ["text"]).tolist() == pytest.approx([0.75])
    assert (server.requests[0]["logprobs"], server.requests[0]["top_logprobs"]) == (True, 20)


def test_a_step_beyond_the_window_is_refused() -> None:
    with pytest.raises(ConfigError, match="step=21 is larger than window=20"):
        ListwiseRanker(llm=RecordedLLM(replies={}), step=21)
