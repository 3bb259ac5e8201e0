"""dataset=documents: a folder of documents.

* `dataset`: `dataset=documents`.
* `find_files`: lists the files to read; hidden, ignored and excluded ones are left out.
* `file_names`: names in Unicode's composed form.
* `catalog`: reads new and changed files; the store has the others.
* `fields`: the fields of a document that follow from its file: kind, folders, date.
* `file_times`: times and sizes of files, by which a later change is noticed.
* `stored_documents`: the documents of a file, as the store keeps them.
* `includes`: the files that a file includes.
* `unreadable`: the bytes of a file, and the report of files that could not be read.
* `unread_log`: logs these files once, and later those that have changed.
* `readers`: one reader for each format.
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
