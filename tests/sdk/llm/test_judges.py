"""What a judge is shown of a passage."""

from convrag import Passage
from convrag.sdk.llm.judges import passage_inputs


def test_a_title_is_shown_unless_the_text_begins_with_it_as_whole_words() -> None:
    tea = passage_inputs(Passage("1", "Tea is brewed.", title="Tea"))
    assert tea == {"title": "", "text": "Tea is brewed."}
    television = passage_inputs(Passage("2", "ITV is a network.", title="IT"))
    assert television == {"title": "IT", "text": "ITV is a network."}
