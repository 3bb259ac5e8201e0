"""dataset=sample: the conversations that come with convrag."""

from importlib import resources
from pathlib import Path

from convrag_datasets.jsonl import JsonlDataset


class SampleDataset(JsonlDataset):
    """A small bundled data set about the Moon and spaceflight: for a first run, with no download.

    It has topic switches, pronouns, ellipsis and unanswerable questions, with qrels and reference answers. It is too
    small to compare systems on.
    """

    def __init__(self) -> None:
        folder = Path(str(resources.files(__package__).joinpath("sample")))
        super().__init__(
            conversations=folder / "conversations.jsonl",
            corpus=folder / "corpus.jsonl",
            qrels=folder / "qrels" / "dev.tsv",
        )
