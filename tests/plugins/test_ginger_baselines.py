from pathlib import Path

import pytest

from convrag.api.types import Evidence, EvidenceItem, Passage, Question
from convrag.testing import GeneratorContract
from convrag_ginger.baselines import BaselineGenerator, CotGenerator
from ginger_toys import COFFEE, TEA, Fixed, evidence


class TestBaselineContract(GeneratorContract):
    def make(self) -> BaselineGenerator:
        return BaselineGenerator(llm=Fixed("Copper conducts heat. [3] It boils sooner. [9]"))


class TestCotContract(GeneratorContract):
    def make(self) -> CotGenerator:
        return CotGenerator(llm=Fixed("1. Pieces: copper [3]\nAnswer: Copper conducts heat. [3]"))


@pytest.mark.parametrize("cls", [BaselineGenerator, CotGenerator])
def test_baselines_keep_the_same_limits(cls: type[BaselineGenerator]) -> None:
    llm = Fixed(" ".join(f"Sentence {n} is here. [{n}]" for n in range(1, 9)))
    found = cls(llm=llm).generate(Question("And?", standalone="Who?"), evidence(TEA, COFFEE))
    assert found.text == "Sentence 1 is here. [1] Sentence 2 is here. [2] Sentence 3 is here."
    assert (found.citations, found.trace["citations_removed"]) == (("p1", "p2"), 1)
    (prompt,) = llm.prompts
    assert (prompt.task, prompt.inputs["question"]) == ("answer", "Who?")
    assert "at most 3 sentences and 105 words" in prompt.messages[-1].content
    assert TEA in prompt.messages[-1].content
    cls(llm=llm, res_length_limit=100).generate(Question("Who?"), Evidence())
    assert "in at most 400 words" in llm.prompts[-1].messages[-1].content


def test_chain_of_thought_ends_with_the_answer() -> None:
    def text(reply: str) -> str:
        return CotGenerator(llm=Fixed(reply)).generate(Question("Who?"), evidence(TEA)).text

    assert text("1. Pieces: many. [1]\nAnswer: no\n\n4. Then\n**Answer:** Ann does. [1]") == "Ann does. [1]"
    for label in (
        *("4. Answer:", "**4. Answer:**", "4) Answer:", "(4) Answer:", "4. **Answer**:", "Final answer:"),
        "### Answer\n",
        *("**Final Answer:**", "Step 4: Answer:", "The answer:", "4. Answer\n", "Answer\n\n", "> Answer:", "_Answer:_"),
    ):
        assert text(f"1. Pieces: many. [1]\n2. Groups: ...\n{label} Ann does. [1]") == "Ann does. [1]", label
    assert text("1. Pieces: many. [1]\n4. Answer: Ann does. [1]\nAnswer:") == "Ann does. [1] Answer:"
    assert text("Pieces: many. [1]\n\nAnn does. [1]") == "Ann does. [1]"


def test_the_citations_of_baselines_are_checked() -> None:
    def answered(reply: str) -> tuple[str, tuple[str, ...], int]:
        found = BaselineGenerator(llm=Fixed(reply)).generate(Question("Who?"), evidence(TEA, COFFEE))
        return found.text, found.citations, found.trace["citations_removed"]

    assert answered("A [2]. B [1, 9]. C [9].") == ("A [2]. B [1]. C.", ("p2", "p1"), 2)
    assert answered("Use `items[0]` or `items[1]`. [2]") == ("Use `items[0]` or `items[1]`. [2]", ("p2",), 0)


@pytest.mark.parametrize("cls", [BaselineGenerator, CotGenerator])
def test_a_template_of_other_generators_serves_baselines(cls: type[BaselineGenerator], tmp_path: Path) -> None:
    """It asked for `hint`, which was not given. Passages are whole, since the prompt has no history to point at."""
    path = tmp_path / "answer.jinja"
    path.write_text("<|user|>\n{% for p in evidence %}{{ p.hint }}: {{ p.text }}{% endfor %} {{ question }}")
    llm = Fixed("Ann drinks tea. [4]")
    item = EvidenceItem(4, Passage("p", "Ann drinks tea."), "see above", hint=True)
    found = cls(llm=llm, prompt=path).generate(Question("Who?"), Evidence((item,)))
    assert llm.prompts[0].messages[0].content == "False: Ann drinks tea. Who?"
    assert llm.prompts[0].inputs["evidence"] == [{"number": 4, "text": "Ann drinks tea.", "title": "", "hint": False}]
    assert found.citations == ("p",)
