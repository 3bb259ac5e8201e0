"""Which sentences of passages an answer quotes."""

from convrag.api.answers import PassageSpan, Support
from convrag.api.passages import Passage
from convrag.sdk.text.quotations import find_quotations

TEA = Passage("tea", "Green tea is brewed at eighty degrees.\n* Black tea takes boiling water.")


def test_a_quoted_sentence_is_found_in_answer_and_passage() -> None:
    answer = "Black tea takes boiling water. [1] So they say."
    (found,) = find_quotations(answer, [TEA])
    assert answer[found.start : found.end] == "Black tea takes boiling water."
    (span,) = found.spans
    assert span.passage_id == "tea"
    assert TEA.text[span.start : span.end].endswith("Black tea takes boiling water.")


def test_what_is_not_quoted_is_no_support() -> None:
    assert find_quotations("Tea is brewed.", [TEA]) == ()
    whole = "Green tea is brewed at eighty degrees. [1]"
    assert find_quotations(whole, [TEA]) == (Support(0, 38, (PassageSpan("tea", 0, 38),)),)


def test_a_heading_is_not_quoted() -> None:
    passage = Passage("leave", "## Leave\n\nLeave is ten weeks.")
    (found,) = find_quotations("Leave is ten weeks. [1]", [passage])
    assert passage.text[found.spans[0].start :].startswith("Leave is ten weeks.")


def test_quotations_have_no_soft_hyphens_and_keep_their_places() -> None:
    passage = Passage("river", "It rains. Der Donau\u00addampfer fährt am Sonn\u200btag.")
    answer = "Der Donaudampfer fährt am Sonntag. [1]"
    (found,) = find_quotations(answer, [passage])
    (span,) = found.spans
    assert (span.start, span.end) == (10, len(passage.text))
