from __future__ import annotations

import itertools
import json
import logging
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convrag.api.errors import ConfigError, DataError, LLMError
from convrag.api.models import LLM
from convrag.api.types import Completion, Nugget, Passage, Prompt
from convrag.sdk.sentences import find_sentence_spans
from convrag.testing import DetectorContract, TaskContract
from convrag_ginger.alignment import Aligner, keep_outermost, read_tagged_texts
from convrag_ginger.auto_detector import AutoDetector
from convrag_ginger.llm_detector import LlmDetector, split_passage
from convrag_ginger.sentences_detector import SentencesDetector
from convrag_ginger.task import DetectNuggetsTask

TEXT = "A kettle whistles because steam is forced through its lid. It was patented in 1890."


class Scripted(LLM):
    """Replies as a function of the passage says; a token is a word."""

    def __init__(self, reply: Callable[[str], str]) -> None:
        self.reply = reply
        self.passages: list[str] = []

    def complete(self, prompt: Prompt) -> Completion:
        assert prompt.task == "nuggets"
        assert prompt.inputs["passage"] in prompt.messages[-1].content
        self.passages.append(prompt.inputs["passage"])
        return Completion(self.reply(prompt.inputs["passage"]))

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def mark(*pieces: str) -> Callable[[str], str]:
    """A model that copies and tags these pieces."""

    def reply(passage: str) -> str:
        for piece in pieces:
            passage = passage.replace(piece, f"<IN>{piece}</IN>", 1)
        return passage

    return reply


def detect(reply: str, text: str = TEXT, **parameters: Any) -> list[Nugget]:
    return LlmDetector(llm=Scripted(lambda _: reply), **parameters).detect("Why?", Passage("p", text))


class TestLlmContract(DetectorContract):
    def make(self) -> LlmDetector:
        return LlmDetector(llm=Scripted(mark("kettle", "steam is forced")))


class TestSentencesContract(DetectorContract):
    def make(self) -> SentencesDetector:
        return SentencesDetector()


# Tags --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("a <IN>b</IN> c <IN>d</IN>", ["b", "d"]),
        ("<IN>two\nlines</IN>", ["two\nlines"]),
        ("<in> b </ IN >", ["b"]),
        ("<IN>a <IN>b</IN> c</IN>", ["a b c"]),  # nested: the outermost
        ("<IN></IN> <IN> \n </IN>", []),
        ("a</IN> b", []),
        ("<IN>One. Two.", ["One."]),  # never closed: its sentence
        ("<IN>a <IN>b</IN>", ["a", "b"]),
        ("<IN>a", ["a"]),
        ("no tags", []),
        ("", []),
    ],
)
def test_tags(reply: str, expected: list[str]) -> None:
    assert read_tagged_texts(reply) == expected


@given(st.text(alphabet="ab. \n<>/IN", max_size=60), st.lists(st.sampled_from(["<IN>", "</IN>", "a. ", "b\n"])))
def test_no_reply_leaves_a_tag_in_a_nugget(noise: str, pieces: list[str]) -> None:
    for nugget in read_tagged_texts(noise + "".join(pieces)):
        assert nugget == nugget.strip() != ""
        assert not re.search(r"<\s*/?\s*IN\s*>", nugget, re.IGNORECASE) or "<" in noise


def test_outermost_spans() -> None:
    assert keep_outermost([(5, 7), (0, 9), (3, 12), (12, 13), (0, 2)]) == [(0, 9), (3, 12), (12, 13)]


# Places ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("copy", "how", "there"),
    [
        ("steam is forced", "exact", "steam is forced"),
        ("Steam  IS\nforced", "normalised", "steam is forced"),
        ("steam is forcd thru its lid", "fuzzy", "steam is forced through its lid"),
        ("kettle whistle", "fuzzy", "kettle whistles"),
    ],
)
def test_copies_are_found(copy: str, how: str, there: str) -> None:
    place = Aligner(TEXT, 0.85).align(copy)
    assert place is not None
    assert (place.match, TEXT[place.start : place.end]) == (how, there)


@pytest.mark.parametrize("copy", ["tea is green", "", "...", TEXT * 3, "the quick brown fox jumps over the lazy dog"])
def test_what_is_not_there_is_not_found(copy: str) -> None:
    assert Aligner(TEXT, 0.9).align(copy) is None
    assert Aligner("", 0.9).align(copy) is None


def test_typography_is_no_difference() -> None:
    text = "It’s “hot”\u00a0– ﬁrst\tof all. Straße."
    for copy in ('it\'s "hot" - first of all', "STRASSE"):
        place = Aligner(text, 1.0).align(copy)
        assert place is not None
        assert place.match == "normalised"
        assert text[place.start : place.end] in ("It’s “hot”\u00a0– ﬁrst\tof all", "Straße")


def test_a_word_is_not_found_inside_another() -> None:
    assert Aligner("training is in it", 0.9).align("in") == (12, 14, "exact")


def test_repeated_text_is_found_one_after_the_other() -> None:
    nuggets = detect("<IN>tea</IN> and <IN>tea</IN> and <IN>tea</IN>", "tea and tea and milk")
    assert [(nugget.start, nugget.end) for nugget in nuggets] == [(0, 3), (8, 11)]


@settings(max_examples=200)
@given(st.text(alphabet="aB é’'-. \n1", min_size=1, max_size=40), st.data())
def test_a_literal_copy_is_always_found(text: str, data: st.DataObject) -> None:
    words = [match.span() for match in re.finditer(r"\w+", text)]
    if not words:
        return
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    start, end = words[first][0], words[last][1]
    for copy in (text[start:end], text[start:end].upper()):
        place = Aligner(text, 0.9).align(copy)
        assert place is not None
        assert text[place.start : place.end].casefold().split() == text[start:end].casefold().split()


# The detector with an LLM ------------------------------------------------------------------------------------------


def test_nuggets_carry_their_places() -> None:
    reply = TEXT.replace("steam is forced", "<IN>steam is forced</IN>").replace("in 1890", "<IN>in 1890</IN>")
    assert detect(reply) == [Nugget("steam is forced", "p", 26, 41), Nugget("in 1890", "p", 75, 82)]


def test_what_was_made_up_is_dropped_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    detector = LlmDetector(
        llm=Scripted(lambda _: "<IN>steam is forced</IN> <IN>by little ghosts</IN> <IN>It  was</IN>")
    )
    with caplog.at_level(logging.INFO):
        nuggets = detector.detect("Why?", Passage("p", TEXT))
    assert [nugget.text for nugget in nuggets] == ["steam is forced", "It was"]
    assert detector.matches == {"exact": 1, "normalised": 1, "dropped": 1}
    assert "passage p: 1 of 3 nuggets are not in it" in caplog.text


def test_a_refusal_is_no_nugget() -> None:
    assert detect("I cannot help with that.") == []
    assert detect("-1") == []


def test_a_blank_passage_costs_nothing() -> None:
    llm = Scripted(lambda _: "")
    assert LlmDetector(llm=llm).detect("Why?", Passage("p", " \n")) == []
    assert llm.passages == []


def test_long_passages_are_marked_in_parts() -> None:
    text = "\n\n".join(f"Kettle number {n} whistles loudly. It is blue." for n in range(20)) + " " + "steam " * 30
    llm = Scripted(mark("whistles loudly", "steam"))
    nuggets = LlmDetector(llm=llm, max_passage_tokens=16).detect("Why?", Passage("p", text))
    assert max(map(llm.count_tokens, llm.passages)) <= 16
    assert " ".join(" ".join(llm.passages).split()) == " ".join(text.split())
    assert all(text[nugget.start : nugget.end] == nugget.text for nugget in nuggets)
    assert [nugget.start for nugget in nuggets] == sorted({nugget.start for nugget in nuggets})
    assert sum(nugget.text == "whistles loudly" for nugget in nuggets) == len(llm.passages) - 2 == 10


@given(st.text(alphabet="ab. \n", max_size=80), st.integers(1, 6))
def test_parts_cover_the_text(text: str, most: int) -> None:
    found = split_passage(text, most, lambda part: len(part.split()))
    assert "".join("".join(text[start:end].split()) for start, end in found) == "".join(text.split())
    assert all(len(text[start:end].split()) <= most for start, end in found)


def test_the_title_is_shown_where_the_text_does_not_begin_with_it() -> None:
    seen: list[Prompt] = []

    class Listening(Scripted):
        def complete(self, prompt: Prompt) -> Completion:
            seen.append(prompt)
            return super().complete(prompt)

    detector = LlmDetector(llm=Listening(lambda passage: passage))
    detector.detect("Why?", Passage("p", TEXT, "Whistles"))
    detector.detect("Why?", Passage("p", TEXT, "A kettle"))
    assert "from: Whistles" in seen[0].messages[-1].content
    assert "from:" not in seen[1].messages[-1].content


def test_threads_share_it() -> None:
    detector = LlmDetector(llm=Scripted(mark("steam", "lid")))
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: len(detector.detect("Why?", Passage(f"p{n}", TEXT))), range(64)))
    assert results == [2] * 64
    assert detector.matches == {"exact": 128}


@pytest.mark.parametrize("parameters", [{"fuzzy": 0.0}, {"fuzzy": 1.1}, {"max_passage_tokens": 0}])
def test_impossible_parameters(parameters: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(parameters))):
        LlmDetector(llm=Scripted(str), **parameters)


def test_another_prompt_is_another_detector(tmp_path: Path) -> None:
    (tmp_path / "mine.jinja").write_text("{{ question }} {{ passage }}")
    mine = LlmDetector(llm=Scripted(str), prompt=tmp_path / "mine.jinja")
    assert mine.prompt_templates[0].hash != LlmDetector(llm=Scripted(str)).prompt_templates[0].hash


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet="aB é’'-. \n\t1ßﬁİ½①…\u00a0", max_size=60),
    st.lists(st.sampled_from(["<IN>", "</IN>", "<in>", "a. ", "b\n", "SS", "ﬁ ", "1", "-"]), max_size=20).map("".join),
    st.integers(1, 8),
)
def test_offsets_are_true_whatever_is_replied(text: str, reply: str, most: int) -> None:
    """Also where case folding, ligatures or white space make the copy longer or shorter than what was copied."""
    replies: list[Callable[[str], str]] = [
        lambda part: reply,
        lambda part: f"<IN>{part.upper()}</IN>",
        lambda part: f"{part[: len(part) // 2]}<IN>{' '.join(part[len(part) // 2 :].split())}",
    ]
    for says in replies:
        detector = LlmDetector(llm=Scripted(says), fuzzy=0.5, max_passage_tokens=most)
        nuggets = detector.detect("Why?", Passage("p", text))
        assert all(nugget.text == text[nugget.start : nugget.end] == nugget.text.strip() != "" for nugget in nuggets)
        assert [nugget.start for nugget in nuggets] == sorted(nugget.start for nugget in nuggets)


# The detector without one ------------------------------------------------------------------------------------------


def found(query: str, text: str, title: str = "", **parameters: Any) -> list[str]:
    return [nugget.text for nugget in SentencesDetector(**parameters).detect(query, Passage("p", text, title))]


def test_sentences_that_match() -> None:
    assert found("Why does a kettle whistle?", TEXT) == ["A kettle whistles because steam is forced through its lid."]
    assert found("Who won the chess championship?", TEXT) == []
    assert found("", TEXT) == found("Why?", TEXT) == found("Why is it?", "") == []


def test_the_title_and_the_sentence_before_count_for_a_part() -> None:
    query = "When was the whistling kettle patented in Chicago?"
    whole = "The kettle was patented in Chicago. Then it was taken home by train. Nobody came by train."
    assert found(query, whole, lead=False, best=0.4) == [whole[:35], whole[36:68]]
    assert found(query, whole, context=0, lead=False, best=0.4) == [whole[:35]]
    assert found(query, whole, "Whistling kettle in Chicago", lead=False, best=0.4) == [
        whole[:35],
        whole[36:68],
        whole[69:],
    ]


def test_what_a_text_says_first_counts_more() -> None:
    query = "Why is tea green?"
    text = "Tea is green here. Tea is green there. Tea is green in May. Tea is green in June."
    assert len(found(query, text, lead=False)) == 4
    assert found(query, text, best=0.5) == ["Tea is green here.", "Tea is green there.", "Tea is green in May."]


def test_a_passage_needs_enough_of_the_query() -> None:
    query, text = "When was the whistling kettle patented in Chicago?", "One was patented very late."
    assert found(query, text) == [text]
    assert found(query, text, threshold=0.33) == []
    assert found(query, text, "Whistling kettle", threshold=0.33) == [text]


def test_what_is_far_behind_the_best_is_something_else() -> None:
    text = "The kettle was patented in Chicago. A kettle is hot here."
    query = "When was the kettle patented in Chicago?"
    assert found(query, text, context=0) == ["The kettle was patented in Chicago."]
    assert len(found(query, text, context=0, best=0.1)) == 2


def test_headings_are_no_nuggets() -> None:
    assert found("Whistling kettle?", "Whistling kettle\n\nWhistling kettles of steel\nThe kettle is whistling.") == [
        "Whistling kettles of steel",
        "The kettle is whistling.",
    ]


@pytest.mark.parametrize("parameters", [{"threshold": 2}, {"best": -1}, {"context": 2}, {"least_words": 0}])
def test_impossible_thresholds(parameters: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(parameters))):
        SentencesDetector(**parameters)


def test_sentences_remember_their_places() -> None:
    text = "1. Dr. Oe spoke .\r\n\r\n2. He `` left . '' Nobody cared!  Why?\t(No.) 3"
    sentences = [text[start:end] for start, end in find_sentence_spans(text)]
    assert sentences == ["1. Dr. Oe spoke .", "2. He `` left . ''", "Nobody cared!", "Why?", "(No.) 3"]


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="aB .!?'\"”\n1", max_size=80))
def test_sentences_cover_the_text_in_order(text: str) -> None:
    spans = find_sentence_spans(text)
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))


# The task ----------------------------------------------------------------------------------------------------------


class TestAutoContract(DetectorContract):
    def make(self) -> AutoDetector:
        llm = Scripted(lambda passage: passage)
        return AutoDetector(llm=llm, tagging=LlmDetector(llm=llm), matching=SentencesDetector())


class TestTaskContract(TaskContract):
    def make(self) -> DetectNuggetsTask:
        return DetectNuggetsTask(path=Path("queries.jsonl"))


def test_detect_nuggets_writes_jsonl(here: Path) -> None:
    from convrag.config.compose import compose

    passages = [{"id": "a", "text": TEXT}, {"id": "b", "text": "Tea.", "title": "T"}, {"id": "c", "text": TEXT}]
    rows = [
        {"turn_id": "t<::>1", "query": "Why does a kettle whistle?", "passages": passages},
        {"turn_id": "t<::>2", "rewritten_query": "Who was Laika?", "contexts": passages, "trace": {}},
    ]
    Path("queries.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    config = compose("detector=sentences", "top_n=2")
    assert DetectNuggetsTask(path=Path("queries.jsonl")).execute(config, here / "out") == 0
    first, second = map(json.loads, (here / "out" / "nuggets.jsonl").read_text().splitlines())
    assert (first["turn_id"], first["query"], first["passages"]) == ("t<::>1", rows[0]["query"], 2)
    (nugget,) = first["nuggets"]
    assert nugget == {"text": TEXT[:58], "passage_id": "a", "start": 0, "end": 58}
    assert second["nuggets"] == []
    assert not list((here / "out").glob("*.unfinished"))


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[]",
        '{"turn_id": "1", "query": "q"}',
        '{"query": "q", "passages": []}',
        '{"turn_id": "1", "query": null, "passages": []}',
        '{"turn_id": "1", "query": "q", "passages": "text"}',
        '{"turn_id": "1", "query": "q", "passages": [{"id": 1, "text": null}]}',
    ],
)
def test_a_broken_file_is_named(here: Path, line: str) -> None:
    from convrag.config.compose import compose

    Path("queries.jsonl").write_text('{"turn_id": "1", "query": "q", "passages": []}\n' + line)
    with pytest.raises(DataError, match=r"queries\.jsonl, line 2"):
        DetectNuggetsTask(path=Path("queries.jsonl")).execute(compose("detector=sentences"), here)
    with pytest.raises(DataError, match="nothing_here"):
        DetectNuggetsTask(path=Path("nothing_here")).execute(compose("detector=sentences"), here)


def test_a_file_without_queries_is_a_mistake(here: Path) -> None:
    from convrag.config.compose import compose

    Path("queries.jsonl").write_text("\n")
    with pytest.raises(DataError, match=r"queries\.jsonl: there is no query in it"):
        DetectNuggetsTask(path=Path("queries.jsonl")).execute(compose("detector=sentences"), here)


def test_odd_line_ends_within_a_text_do_not_end_its_line(here: Path) -> None:
    """JSON needs not escape them, and real passages have them."""
    from convrag.config.compose import compose

    text = "A kettle whistles\u2028because of\x85steam. \u2029A kettle is hot."
    row = {"turn_id": "1", "query": "kettle?", "passages": [{"id": "p", "text": text}]}
    Path("queries.jsonl").write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    task = DetectNuggetsTask(path=Path("queries.jsonl"))
    assert task.execute(compose("detector=sentences"), here) == 0
    (line,) = (here / "nuggets.jsonl").read_text(encoding="utf-8").strip().split("\n")
    assert all(text[nugget["start"] : nugget["end"]] == nugget["text"] for nugget in json.loads(line)["nuggets"])
    assert json.loads(line)["nuggets"]


def test_a_detector_that_fails_leaves_no_half_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from convrag.config.compose import compose

    def fail(*_: Any) -> None:
        raise LLMError("down")

    monkeypatch.setattr(SentencesDetector, "detect", fail)
    row = {"turn_id": "1", "query": "q", "passages": [{"id": "p", "text": TEXT}]}
    Path("queries.jsonl").write_text(json.dumps(row))
    task = DetectNuggetsTask(path=Path("queries.jsonl"), output=here / "out" / "n.jsonl")
    with pytest.raises(LLMError, match="down"):
        task.execute(compose("detector=sentences", "detector.threshold=0.123"), here)  # of which there is none yet
    assert list((here / "out").iterdir()) == []
