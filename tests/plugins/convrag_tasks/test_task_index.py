"""task=index with retrievers of this machine: it builds what they search, and asks nothing."""

from pathlib import Path

import pytest

from convrag import Hit, Query, Retriever
from convrag.api.errors import NotReady
from convrag.config.compose import compose
from convrag_tasks.run import IndexTask


def folders(here: Path) -> list[Path]:
    return sorted((here / "outputs/store/indexes").glob("*"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), ["retriever: default: 119 passages: 119 indexed (english)"]),
        (("retriever=dense",), ["retriever: default: 119 passages: 119 embedded"]),
        (
            ("retriever=hybrid",),
            [
                "retriever.lexical: default: 119 passages: 119 indexed (english)",
                "retriever.dense: default: 119 passages: 119 embedded",
                "retriever: it is ready",
            ],
        ),
    ],
)
def test_the_index_is_built(
    arguments: tuple[str, ...], said: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = compose("task=index", *arguments)
    assert IndexTask().execute(config, here) == 0
    assert len(folders(here)) == sum("passages" in line for line in said)
    assert capsys.readouterr().out.splitlines()[:-1] == said
    built = [folder.stat().st_mtime_ns for folder in folders(here)]
    assert IndexTask().execute(config, here) == 0
    assert [folder.stat().st_mtime_ns for folder in folders(here)] == built


def test_what_is_missing_is_said_first(here: Path) -> None:
    (here / "queries.jsonl").write_text('{"_id": "c<::>1", "text": "tea"}\n', encoding="utf-8")
    with pytest.raises(NotReady, match="no passages to search"):
        IndexTask().execute(
            compose("task=index", "dataset=jsonl", "dataset.queries=queries.jsonl"), here
        )


def test_a_retriever_without_an_index_of_its_own_prepares() -> None:
    class Plain(Retriever):
        prepared = 0

        def prepare(self) -> None:
            self.prepared += 1

        def retrieve(self, queries: list[Query], k: int) -> list[Hit]:
            return []

    stage = Plain()
    assert list(stage.index()) == []
    assert stage.prepared == 1
