"""`dataset=chat_csv`: the CSV export of a help desk, one message on each row."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Offer the data set."""
    register(
        "dataset",
        "chat_csv",
        "chat_csv.dataset:ChatDataset",
        "Read a help desk's export: each chat is a conversation, and the articles that an "
        "agent links are relevant.",
    )
