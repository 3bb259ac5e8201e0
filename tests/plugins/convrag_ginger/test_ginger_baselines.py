"""`generator=baseline` and `generator=cot`."""

from pathlib import Path

import pytest

from convrag.api.conversations import Question
from convrag.api.errors import LLMError
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Passage
from convrag.testing import GeneratorContract
from convrag_ginger.baselines import BaselineGenerator, CotGenerator
from ginger_toys import COFFEE, NAMES, TEA, Fixed, Rules, evidence

BASELINES = [BaselineGenerator, CotGenerator]


class TestBaselineContract(GeneratorContract):
    def make(self) -> BaselineGenerator:
        return BaselineGenerator(llm=Fixed("Copper conducts heat. [3] It boils sooner. [9]"))


class TestCotContract(GeneratorContract):
    def make(self) -> CotGenerator:
        reply = "1. Pieces: copper [3]\nAnswer: Copper conducts heat. [3]"
        return CotGenerator(llm=Fixed(reply))


@pytest.mark.parametrize("cls", BASELINES)
def test_one_prompt_over_the_passages_within_the_limit(cls: type[BaselineGenerator]) -> None:
    llm = Fixed(" ".join(f"Sentence {n} is here. [{n}]" for n in range(1, 9)))
    question = Question("And?", standalone="Who?")
    found = cls(llm=llm).generate(question, evidence(TEA, COFFEE))
    assert found.text == "Sentence 1 is here. [1] Sentence 2 is here. [2] Sentence 3 is here."
    assert (found.citations, found.trace["citations_removed"]) == (("p1", "p2"), 1)
    (prompt,) = llm.prompts
    assert (prompt.task, prompt.inputs["question"]) == ("answer", "Who?")
    assert prompt.sampling == {"temperature": 0.0, "max_tokens": 1000}
    sent = prompt.messages[-1].content
    assert f"[1] {TEA}\n\n[2] {COFFEE}\n\nThe question: Who?" in sent
    assert sent.endswith("Answer in at most 3 sentences and 105 words.")


@pytest.mark.parametrize("cls", BASELINES)
def test_a_hundred_means_four_hundred_words(cls: type[BaselineGenerator]) -> None:
    llm = Fixed(" ".join(f"Person{n} has {'a ' * 7}thing." for n in range(60)))
    found = cls(llm=llm, res_length_limit=100).generate(Question("Who?"), Evidence())
    sent = llm.prompts[0].messages[-1].content
    assert "No passage was found for this question." in sent
    assert sent.endswith("Answer in at most 400 words.")
    assert len(found.text.split()) == 400


def test_the_reasoning_is_not_a_part_of_the_answer() -> None:
    def read(reply: str) -> str:
        generator = CotGenerator(llm=Fixed(reply))
        return generator.generate(Question("Who?"), evidence(TEA)).text

    labels = [
        *("4. Answer:", "**4. Answer:**", "4) Answer:", "(4) Answer:", "4. **Answer**:"),
        *("Final answer:", "**Final Answer:**", "Step 4: Answer:", "The answer:", "### Answer\n"),
        *("4. Answer\n", "Answer\n\n", "> Answer:", "_Answer:_"),
    ]
    for label in labels:
        reply = f"1. Pieces: many. [1]\n2. Groups: ...\n{label} Ann does. [1]"
        assert read(reply) == "Ann does. [1]", label
    twice = "1. Pieces: many. [1]\nAnswer: no\n\n4. Then\n**Answer:** Ann does. [1]"
    assert read(twice) == "Ann does. [1]"
    empty = "1. Pieces: many. [1]\n4. Answer: Ann does. [1]\nAnswer:"
    assert read(empty) == "Ann does. [1] Answer:"
    assert read("Pieces: many. [1]\n\nAnn does. [1]") == "Ann does. [1]"


def test_the_citations_of_baselines_are_checked() -> None:
    def read(reply: str) -> tuple[str, tuple[str, ...], int]:
        generator = BaselineGenerator(llm=Fixed(reply))
        found = generator.generate(Question("Who?"), evidence(TEA, COFFEE))
        return found.text, found.citations, found.trace["citations_removed"]

    assert read("A [2]. B [1, 9]. C [9].") == ("A [2]. B [1]. C.", ("p2", "p1"), 2)
    code = "Use `items[0]` or `items[1]`. [2]"
    assert read(code) == (code, ("p2",), 0)


@pytest.mark.parametrize("cls", BASELINES)
def test_a_sentence_that_is_too_long_is_asked_for_again(cls: type[BaselineGenerator]) -> None:
    llm = Fixed(NAMES, "Ann and six others. [1]")
    generator = cls(llm=llm, res_length_limit=1, words=9)
    found = generator.generate(Question("Who?"), evidence(NAMES))
    assert found.text == "Ann and six others. [1]"
    assert [prompt.attempt for prompt in llm.prompts] == [0, 1]
    assert "with at most 9 words in all" in llm.prompts[1].messages[-1].content


def test_a_sentence_that_stays_too_long_is_kept_whole() -> None:
    llm = Fixed(NAMES, LLMError("down"))
    generator = BaselineGenerator(llm=llm, res_length_limit=1, words=9)
    found = generator.generate(Question("Who?"), evidence(NAMES))
    assert found.text == NAMES
    assert found.trace["words_over"] == len(NAMES.split()) - 9


@pytest.mark.parametrize("cls", BASELINES)
def test_a_template_of_other_generators_serves_baselines(
    cls: type[BaselineGenerator], tmp_path: Path
) -> None:
    """Passages are shown in full, since the prompt has no history at which a hint could point."""
    path = tmp_path / "answer.jinja"
    text = "<|user|>\n{% for p in evidence %}{{ p.hint }}: {{ p.text }}{% endfor %} {{ question }}"
    path.write_text(text)
    llm = Fixed("Ann drinks tea. [4]")
    item = EvidenceItem(4, Passage("p", "Ann drinks tea."), "see above", hint=True)
    found = cls(llm=llm, prompt=path).generate(Question("Who?"), Evidence((item,)))
    assert llm.prompts[0].messages[0].content == "False: Ann drinks tea. Who?"
    assert found.citations == ("p",)


@pytest.mark.parametrize("cls", BASELINES)
def test_without_a_model_a_question_is_refused_by_its_words(cls: type[BaselineGenerator]) -> None:
    llm = Rules("Ann drinks green tea. [1]")
    generator = cls(llm=llm)
    refused = generator.generate(Question("How far is the moon?"), evidence(TEA))
    assert refused.text.startswith("I could not find this in the ")
    assert (refused.trace["outcome"], llm.prompts) == ("unanswerable", [])
    found = generator.generate(Question("Who drinks green tea?"), evidence(TEA))
    assert (found.text, found.trace["outcome"]) == ("Ann drinks green tea. [1]", "answered")
    assert [span.passage_id for each in found.support for span in each.spans] == ["p1"]
