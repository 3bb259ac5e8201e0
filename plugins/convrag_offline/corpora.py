"""The passages that this package learns from."""

from __future__ import annotations

from convrag import Dataset, Store
from convrag.sdk.corpus import Corpus


def has_passages(dataset: Dataset, domain: str) -> bool:
    """Whether a domain has any passages. Raises DataError where its file is broken."""
    return next(iter(dataset.corpus(domain)), None) is not None


def corpora(dataset: Dataset, store: Store) -> list[Corpus]:
    """The corpora of a data set, in its order; domains without passages are left out. Raises DataError."""
    return [Corpus(dataset, domain, store) for domain in dataset.domains() if has_passages(dataset, domain)]
