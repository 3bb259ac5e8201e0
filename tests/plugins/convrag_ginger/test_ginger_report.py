from collections.abc import Sequence

from convrag.api.records import TurnRecord
from convrag_ginger.summarizer import LlmSummarizer
from ginger_toys import COFFEE, TEA, Rules, Says, Subjects, answer, ginger


def test_the_report_counts_outcomes() -> None:
    answers = [
        answer(ginger(), TEA),
        answer(ginger()),
        answer(ginger(summarizer=Says("Ann has 5.")), "Ann drinks tea."),
    ]
    records = [
        TurnRecord("c", f"t{n}", "d", n, "?", trace={"generator": a.trace})
        for n, a in enumerate(answers)
    ]
    report = ginger().report([*records, TurnRecord("c", "t", "d", 9, "?", error="down")])
    assert report is not None
    assert report.numbers == {
        "answered": 1,
        "single": 1,
        "unanswerable": 1,
        "nuggets": 4,
        "sentences": 4,
        "reduced": 1,
        "left_out": 0,
        "unsupported": 0,
        "untagged": 0,
    }
    assert "1 unanswerable; 4 sentences, 1 of them reduced to a quotation" in report.lines[0]
    assert ginger().report([TurnRecord("c", "t", "d", 9, "?", error="down")]) is None


class Topics(Subjects):
    """Describes each cluster by the second words of its texts."""

    def describe(self, texts: Sequence[str], labels: Sequence[int]) -> dict[int, list[str]]:
        groups: dict[int, list[str]] = {}
        for text, label in zip(texts, labels, strict=True):
            groups.setdefault(label, []).append(text.split()[1])
        return groups


def test_topic_words_stand_in_the_trace_and_the_report() -> None:
    generator = ginger(clusterer=Topics())
    traces = [answer(generator, TEA, COFFEE).trace, answer(generator, TEA, COFFEE).trace]
    assert [cluster["words"] for cluster in traces[0]["clusters"]] == [
        ["drinks", "grows", "sells"],
        ["roasts", "drinks"],
    ]
    report = generator.report(
        [
            TurnRecord("c", f"t{n}", "d", n, "?", trace={"generator": trace})
            for n, trace in enumerate(traces)
        ]
    )
    assert report is not None
    assert report.lines[1] == (
        "words of topics, with the number of clusters: drinks (4), grows (2), roasts (2), sells (2)"
    )
    assert report.numbers["topic_words"] == {"drinks": 4, "grows": 2, "roasts": 2, "sells": 2}


def test_turns_with_few_nuggets_say_that_they_are_left_out_of_metrics() -> None:
    generator = ginger(exclude_below=2)
    why = "fewer than 2 nuggets were detected"
    assert answer(generator).trace["excluded"] == why
    assert answer(generator, "Ann drinks tea.").trace["excluded"] == why
    assert "excluded" not in answer(generator, "Ann drinks tea. Ann grows mint.").trace
    assert "excluded" not in answer(ginger()).trace
    refusing = ginger(exclude_below=2, summarizer=LlmSummarizer(llm=Rules("")))
    refused = answer(refusing, "The moon is far away.")
    assert (refused.trace["outcome"], refused.trace["excluded"]) == ("unanswerable", why)
