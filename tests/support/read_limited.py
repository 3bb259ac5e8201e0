"""Reads the hostile documents of one format, each in a process with 200 MB; a line of JSON for each.

PYTHONPATH=tests:tests/support python tests/support/read_limited.py pdf
"""

import json
import sys
from argparse import ArgumentParser
from functools import partial

from convrag_chunkers.section_chunker import SectionChunker
from convrag_documents.find_files import FoundFile
from convrag_documents.readers import find_reader
from convrag_documents.stored_documents import dump_document
from fuzz.document_readers import SOUND
from hostile_documents import HOSTILE
from limited_process import run_limited

MEGABYTES = 200
SECONDS = 60
"""The processor time of a document; a busy machine counts some of what others take."""


def read(name: str, content: bytes) -> None:
    """Read a document as dataset=documents does, and cut it into passages."""
    reader = find_reader(FoundFile(name, name))
    assert reader is not None
    chunker = SectionChunker()
    try:
        for document in reader.read(content):
            dump_document(document)
            chunker.chunk(document)
    except MemoryError:
        raise
    except Exception:  # the catalog lists it
        return


def main() -> None:
    """Read the documents of the format that the command names."""
    parser = ArgumentParser()
    parser.add_argument("kind", help="a file name's ending")
    parser.add_argument("--every", type=int, default=1, help="1 for all documents, 3 for a third")
    asked = parser.parse_args()
    for name, content in SOUND.items():  # the libraries are loaded before the limit is set
        read(name, content)
    of_kind = [label for label, (name, _) in HOSTILE.items() if name.endswith(f".{asked.kind}")]
    for label in of_kind[:: asked.every]:
        name, make = HOSTILE[label]
        content = make()
        assert len(content) <= 1_500_000, label
        ending = run_limited(partial(read, name, content), megabytes=MEGABYTES, seconds=SECONDS)
        sys.stdout.write(json.dumps([label, len(content), *ending]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
