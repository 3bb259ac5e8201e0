"""dataset=documents: a folder of documents.

The option: dataset. What it stands on: find_files lists the files, catalog reads what is new or
changed and keeps it, and unreadable lists what could not be read. readers/ has one reader for each
format.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's option."""
    register(
        "dataset",
        "documents",
        "convrag_documents.dataset:DocumentsDataset",
        "Your documents in a folder: Markdown, text, code, HTML, PDF, Office, mails, CSV,"
        " JSON, EPUB.",
    )
