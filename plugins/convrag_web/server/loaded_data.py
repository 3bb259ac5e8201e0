"""The data set of a served model, as it was read: its corpora, documents and example questions."""

import logging
from datetime import UTC, datetime
from functools import cache, cached_property
from itertools import islice
from pathlib import Path

from convrag import ConfigError, Dataset, Document, Passage
from convrag.sdk.files import find_stored_path
from convrag.sdk.search.corpus import Corpus, PassageSource
from convrag.sdk.secrets import redact
from convrag.sdk.tasks.turns import Wiring
from convrag_web.server.errors import RequestError

log = logging.getLogger("convrag.serve")

_EXAMPLES = 3
"""The number of example questions offered on the page."""


class LoadedData:
    """The data set of a model and all that was read from it.

    When its files change, a new instance replaces it as a whole, so nothing stale can stay.

    Args:
        wiring: holds the data set and the other stages.
        default_domain: the corpus for questions that name none; None where they have to name one.

    Raises:
        ConfigError: the data set does not have the default domain.
    """

    def __init__(self, wiring: Wiring, default_domain: str | None) -> None:
        self.wiring = wiring
        self.dataset: Dataset = wiring.get("dataset")
        self.domains = tuple(self.dataset.domains())
        self.read_at = datetime.now(UTC)
        self._open_corpus = cache(self._open_copy)
        if default_domain is not None and default_domain not in self.domains:
            raise ConfigError(
                f"task.domain={default_domain}: the data set has {', '.join(self.domains)}"
            )

    @cached_property
    def examples(self) -> list[str]:
        """The first questions of some conversations; empty where the data set has none."""
        try:
            conversations = list(islice(self.dataset.conversations(), _EXAMPLES))
        except Exception as error:  # of any plugin: a corpus alone has no questions
            log.info("the data set has no examples: %s", redact(str(error)))
            return []
        return [each.turns[0].question for each in conversations if each.turns]

    def list_files(self) -> list[Path]:
        """Return the files and folders that the data set is read from."""
        paths = self.wiring.config["dataset"].get("path") or []
        if isinstance(paths, str):
            paths = [paths]
        return [find_stored_path(Path(path).expanduser()).absolute() for path in paths]

    def find_document(self, domain: str, document_id: str) -> Document:
        """Return a document of the data set. Raises RequestError if it is not there any more."""
        found = None
        if domain in self.domains:
            found = self.dataset.document(domain, document_id)
        if found is None:
            message = "the document is no longer in the data set"
            raise RequestError(404, message, param="passage", code="no_document")
        return found

    def find_passage(self, domain: str, passage_id: str) -> Passage:
        """Return a passage of a corpus. Raises RequestError if it is not there any more."""
        corpus = self._open_corpus(domain)
        if corpus is not None:
            candidates = iter(corpus.get_by_id([passage_id]))
        else:  # a search engine holds the passages, so there is no copy of the corpus
            candidates = iter(self.dataset.corpus(domain))
        for passage in candidates:
            if passage.id == passage_id:
                return passage
        message = "the passage is no longer in the data set"
        raise RequestError(404, message, param="passage", code="not_found")

    def _open_copy(self, domain: str) -> PassageSource | None:
        return Corpus.open_copy(self.dataset, domain, self.wiring.store)
