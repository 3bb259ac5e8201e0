import logging
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from convrag.api.completions import Completion, Prompt
from convrag.api.errors import LLMError
from convrag.api.passages import Nugget, Passage
from convrag.testing import DetectorContract
from convrag_ginger.llm_detector import LlmDetector, Untagged, split_passage
from ginger_toys import KETTLE, Scripted, detect, mark


class TestLlmContract(DetectorContract):
    def make(self) -> LlmDetector:
        return LlmDetector(llm=Scripted(mark("kettle", "steam is forced")))


def test_nuggets_carry_their_places() -> None:
    reply = KETTLE.replace("steam is forced", "<IN>steam is forced</IN>").replace(
        "in 1890", "<IN>in 1890</IN>"
    )
    assert detect(reply) == [Nugget("steam is forced", "p", 26, 41), Nugget("in 1890", "p", 75, 82)]


def test_what_was_made_up_is_dropped_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    detector = LlmDetector(
        llm=Scripted(
            lambda _: "<IN>steam is forced</IN> <IN>by little ghosts</IN> <IN>It  was</IN>"
        )
    )
    with caplog.at_level(logging.INFO):
        nuggets = detector.detect("Why?", Passage("p", KETTLE))
    assert [nugget.text for nugget in nuggets] == ["steam is forced", "It was"]
    assert "passage p: 1 of 3 nuggets are not in it" in caplog.text


def test_a_copy_without_tags_has_no_nugget_and_another_reply_is_an_error() -> None:
    assert detect(KETTLE.replace(".", "")) == []
    for reply in ("I cannot help with that.", "-1", "The passage says that a kettle whistles."):
        with pytest.raises(Untagged, match="nor has it tags"):
            detect(reply)


def test_a_blank_passage_costs_nothing() -> None:
    llm = Scripted(lambda _: "")
    assert LlmDetector(llm=llm).detect("Why?", Passage("p", " \n")) == []
    assert llm.passages == []


def test_long_passages_are_marked_in_parts() -> None:
    text = (
        "\n\n".join(f"Kettle number {n} whistles loudly. It is blue." for n in range(20))
        + " "
        + "steam " * 30
    )
    llm = Scripted(mark("whistles loudly", "steam"))
    nuggets = LlmDetector(llm=llm, max_passage_tokens=16).detect("Why?", Passage("p", text))
    assert max(map(llm.count_tokens, llm.passages)) <= 16
    assert " ".join(" ".join(llm.passages).split()) == " ".join(text.split())
    assert all(text[nugget.start : nugget.end] == nugget.text for nugget in nuggets)
    assert [nugget.start for nugget in nuggets] == sorted({nugget.start for nugget in nuggets})
    assert sum(nugget.text == "whistles loudly" for nugget in nuggets) == 10


class Cutting(Scripted):
    """Writes as many words as llm.max_tokens, here 3, or the prompt's `room` allow."""

    def complete(self, prompt: Prompt) -> Completion:
        words = super().complete(prompt).text.split()
        room = min(self.most, max(3, prompt.room))
        return Completion(
            " ".join(words[:room]), finish_reason="length" if len(words) > room else "stop"
        )

    most = 1000


def test_a_copy_is_never_cut_in_silence() -> None:
    """It asks for room; a reply that was cut is asked for once more with more, and then is an
    error.
    """
    passage = Passage("p", KETTLE)
    llm = Cutting(mark("in 1890"))
    assert [nugget.text for nugget in LlmDetector(llm=llm).detect("When?", passage)] == ["in 1890"]
    assert len(llm.passages) == 1
    wordy = Cutting(lambda text: "Let me think. " * 20 + mark("in 1890")(text))
    assert [nugget.text for nugget in LlmDetector(llm=wordy).detect("When?", passage)] == [
        "in 1890"
    ]
    assert len(wordy.passages) == 2
    wordy.most = 10
    with pytest.raises(LLMError, match="cut at max_tokens: raise llm.max_tokens"):
        LlmDetector(llm=wordy).detect("When?", passage)


@given(st.text(alphabet="ab. \n", max_size=80), st.integers(1, 6))
def test_parts_cover_the_text(text: str, most: int) -> None:
    found = split_passage(text, most, lambda part: len(part.split()))
    assert "".join("".join(text[start:end].split()) for start, end in found) == "".join(
        text.split()
    )
    assert all(len(text[start:end].split()) <= most for start, end in found)


def test_the_title_is_shown_where_the_text_does_not_begin_with_it() -> None:
    seen: list[Prompt] = []

    class Listening(Scripted):
        def complete(self, prompt: Prompt) -> Completion:
            seen.append(prompt)
            return super().complete(prompt)

    detector = LlmDetector(llm=Listening(lambda passage: passage))
    detector.detect("Why?", Passage("p", KETTLE, "Whistles"))
    detector.detect("Why?", Passage("p", KETTLE, "A kettle"))
    detector.detect("Why?", Passage("p", KETTLE, "A ket"))
    assert "from: Whistles" in seen[0].messages[-1].content
    assert "from:" not in seen[1].messages[-1].content
    assert "from: A ket\n" in seen[2].messages[-1].content


def test_another_prompt_is_another_detector(tmp_path: Path) -> None:
    (tmp_path / "mine.jinja").write_text("{{ question }} {{ passage }}")
    mine = LlmDetector(llm=Scripted(str), prompt=tmp_path / "mine.jinja")
    assert mine.prompt_templates[0].hash != LlmDetector(llm=Scripted(str)).prompt_templates[0].hash
