"""The rewriter with recorded replies: no model is asked."""

from imagined.rewriter import ImaginedRewriter

from convrag import Question, Rewrite, Rewriter
from convrag.testing import RecordedLLM, RewriterContract, question

PASSAGE = "Copper conducts heat better than steel, so that a copper kettle boils sooner."


class AsAsked(Rewriter):
    """Search for the question as it was asked."""

    def rewrite(self, question: Question) -> Rewrite:
        return Rewrite.of(question.text)


def make(reply: str = PASSAGE, passages: int = 1, weight: float = 1.0) -> ImaginedRewriter:
    return ImaginedRewriter(
        llm=RecordedLLM(replies={"copper": reply}),
        first=AsAsked(),
        passages=passages,
        weight=weight,
    )


class TestImaginedRewriter(RewriterContract):
    def make(self) -> ImaginedRewriter:
        return ImaginedRewriter(llm=RecordedLLM(replies={"": PASSAGE}), first=AsAsked())


def test_the_question_and_the_passages_are_queries() -> None:
    rewriter = make(passages=2, weight=0.5)
    queries = rewriter.rewrite(question("Is copper better?")).queries
    assert [(query.text, query.weight) for query in queries] == [
        ("Is copper better?", 1.0),
        (PASSAGE, 0.25),
        (PASSAGE, 0.25),
    ]
    assert [prompt.attempt for prompt in rewriter.llm.prompts] == [0, 1]


def test_without_a_passage_the_question_is_the_query() -> None:
    for rewriter, asked in ((make(), "Is steel better?"), (make(reply="  "), "Is copper better?")):
        rewrite = rewriter.rewrite(question(asked))
        assert [query.text for query in rewrite.queries] == [asked]
        assert rewrite.fallback
