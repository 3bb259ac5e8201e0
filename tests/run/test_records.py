"""The records of a run, in memory and on disk: nothing that metrics need is lost."""

import json
from dataclasses import replace

import pytest

from convrag import Completion, Evidence, EvidenceItem, Hit, Message, Passage, Prompt, TurnRecord
from convrag.run.records import TurnRecords, from_json, to_json


def record(number: int = 1, domain: str = "tea") -> TurnRecord:
    passage = Passage("p", "Green tea is steeped at 80 degrees.", "Tea", metadata={"page": 3})
    prompt = Prompt(
        "answer",
        (Message("system", "Be brief."), Message("user", "hot?")),
        {"n": 1},
        {"top_p": 0.5},
        2,
    )
    return TurnRecord(
        "c",
        f"c<::>{number}",
        domain,
        number,
        "hot?",
        hits=(Hit(passage, 1.5),),
        evidence=Evidence((EvidenceItem(1, passage, "see [1] above", hint=True),)),
        replies=((prompt, Completion("80.", 7, 2, cost_usd=0.5, model="m")),),
    )


def test_files_of_former_versions_are_read() -> None:
    row = json.loads(to_json(record()))
    del row["evidence"][0]["shown"], row["contexts"][0]["metadata"]
    (item,) = from_json(json.dumps(row)).evidence.items
    assert item.text == item.passage.text
    assert item.hint


@pytest.mark.parametrize("kept", [0, 2, 100])
def test_records_can_be_gone_through_again_and_again(kept: int) -> None:
    """Domain by domain, as they were added: in memory, on disk, or in both."""
    added = [record(1, "tea"), record(2, "milk"), record(3, "tea"), record(4, "milk")]
    records = TurnRecords(in_memory=kept)
    for each in added:
        records.add(each)
    first = list(records)
    assert [each.number for each in first] == [2, 4, 1, 3]
    assert first == list(records) == sorted(added, key=lambda each: each.domain)
    inner, outer = iter(records), iter(records)
    assert [next(inner), next(outer), next(inner)] == [added[1], added[1], added[3]]
    records.add(replace(record(5, "milk")))
    assert len(list(records)) == 5
    records.close()
