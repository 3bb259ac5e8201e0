"""The base of embedders at servers."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge

from convrag import ConfigError, Embedder, operational
from convrag_llms.embedding_reply import Vectors
from convrag_llms.errors import UnusableReply
from convrag_llms.request_batches import RequestBatches
from convrag_llms.server_stage import ServerStage, make_defect

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INPUT_TYPES = {
    "cohere": ("input_type", "search_query", "search_document"),
    "jina_ai": ("task", "retrieval.query", "retrieval.passage"),
    "nvidia_nim": ("input_type", "query", "passage"),
    "voyage": ("input_type", "query", "document"),
}
"""Provider, as litellm names it -> its parameter, and the values for queries and for passages."""

_PROBE = "convrag"
"""A text that is embedded twice, before the first others."""

_LEAST_COSINE = 0.999
"""The least cosine of two vectors of one text; batches in half precision change the third digit."""


@dataclass(kw_only=True, eq=False)
class ServerEmbedder(ServerStage, Embedder):
    """An embedder at a server.

    Args:
        dimensions: the length of the vectors, for models that can shorten them; None takes the
            model's own.
        query_prefix: put before queries, for models that were trained so (the model's card tells).
        passage_prefix: put before passages.
        input_type: what the server is told of a text, for queries and for passages, with a slash
            between: query/passage, search_query/search_document. "auto" is the provider's own
            (Cohere, Jina, NVIDIA, Voyage); "none" sends none.
        batch_size: the most texts of a request. Where a server refuses it, fewer are sent.
        batch_tokens: the most tokens of a request, as far as they can be estimated.
    """

    group = "embedder"
    kind = "an embedding server"
    libraries = ("numpy",)
    own_parameters: ClassVar[Mapping[str, Any]] = {}
    """What the option sends with each request; one that the server refuses is left out."""

    dimensions: Annotated[int | None, Ge(1)] = None
    query_prefix: str = ""
    passage_prefix: str = ""
    input_type: str = "auto"
    batch_size: Annotated[int, operational, Ge(1)] = 96
    batch_tokens: Annotated[int, operational, Ge(1)] = 50_000

    def __post_init__(self) -> None:
        super().__post_init__()
        self._input_types = self._read_input_type()
        self._width: int | None = None
        self._width_lock = threading.Lock()
        self._batches = RequestBatches(
            self.batch_size, self.batch_tokens, self.concurrency, self.endpoint.model
        )

    @abstractmethod
    def ask(self, body: Mapping[str, Any], timeout: float) -> Vectors:
        """Send one request once, and read its vectors, within the deadline of this thread.

        Raises:
            UnusableReply: it has no vectors, or too few of them.
            Exception: one of errors.py, or what a library raises and errors.py can read.
        """

    @abstractmethod
    def find_provider(self) -> str:
        """Return the provider, as litellm names it; empty where it is not known."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Embed texts as unit rows, (n, d) float32; blank texts are zero rows."""
        import numpy as np

        places = [place for place, text in enumerate(texts) if text.strip()]
        distinct = list(dict.fromkeys(texts[place] for place in places))
        found: dict[str, NDArray[np.float32]] = {}

        def keep(part: Sequence[int], rows: NDArray[np.float32]) -> None:
            found.update((distinct[place], row) for place, row in zip(part, rows, strict=True))

        self._send_texts(distinct, query, keep)
        width = self._find_width() if texts else 0
        embedded = np.zeros((len(texts), width), dtype=np.float32)
        for place in places:
            embedded[place] = found[texts[place]]
        return embedded

    def embed_in_parts(
        self,
        texts: Sequence[str],
        keep: Callable[[Sequence[int], NDArray[np.float32]], None],
    ) -> None:
        """Embed passages, and give the rows of each request to `keep` as soon as they are there."""
        import numpy as np

        filled = [place for place, text in enumerate(texts) if text.strip()]
        blank = [place for place, text in enumerate(texts) if not text.strip()]

        def keep_part(part: Sequence[int], rows: NDArray[np.float32]) -> None:
            keep([filled[place] for place in part], rows)

        self._send_texts([texts[place] for place in filled], False, keep_part)
        if blank:
            keep(blank, np.zeros((len(blank), self._find_width()), dtype=np.float32))

    def describe_requests(self) -> Iterator[str]:
        """Say how many requests were sent, and how many texts were cut."""
        yield from super().describe_requests()
        yield from self._batches.describe()

    def _send_texts(
        self,
        texts: Sequence[str],
        query: bool,
        keep: Callable[[Sequence[int], NDArray[np.float32]], None],
    ) -> None:
        if not texts:
            return
        self._find_width()  # an unusable server is found out before many requests
        prefix = self.query_prefix if query else self.passage_prefix
        ask = partial(self._embed_batch, query=query)
        self._batches.send([prefix + text for text in texts], ask, keep)

    def _find_width(self) -> int:
        """Return the length of the vectors. It is asked once, and the server is tried with it."""
        with self._width_lock:
            if self._width is None:
                rows = self._embed_batch([_PROBE, _PROBE], query=False)
                cosine = float(rows[0] @ rows[1])
                if cosine < _LEAST_COSINE:
                    raise make_defect(
                        self,
                        f"gives different vectors for equal texts (their cosine is {cosine:.3f}): "
                        "no search can be built on them. Choose another model or server",
                    )
                self._width = rows.shape[1]
            return self._width

    def _embed_batch(self, texts: list[str], *, query: bool) -> NDArray[np.float32]:
        """Embed texts in one request: (n, d) unit rows. Raises as `send`."""
        body = {**self.own_parameters, **self.extra}
        body |= {"model": self.endpoint.model, "input": texts}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        if self._input_types:
            name, of_queries, of_passages = self._input_types
            body.setdefault(name, of_queries if query else of_passages)
        vectors: Vectors = self.send(self._ask_checked, body, texts)
        return vectors.rows

    def _ask_checked(self, body: Mapping[str, Any], timeout: float) -> Vectors:
        """Send one request once, and check the length of its vectors. Raises as `ask`."""
        vectors = self.ask(body, timeout)
        width = vectors.rows.shape[1]
        if self.dimensions is not None and width != self.dimensions:
            raise UnusableReply(
                f"it sent vectors of {width} numbers, and not of {self.dimensions}",
                f"Set llm.dimensions=null or llm.dimensions={width}: the model does not give "
                "others.",
            )
        if self._width is not None and width != self._width:
            raise UnusableReply(
                f"it sent vectors of {width} numbers, and of {self._width} before",
                "Another model has taken its place: run the command again.",
            )
        return vectors

    def _read_input_type(self) -> tuple[str, str, str] | None:
        """Read what is sent of a text's kind. Raises ConfigError."""
        if self.input_type == "auto":
            return INPUT_TYPES.get(self.find_provider())
        if self.input_type in ("none", ""):
            return None
        of_queries, slash, of_passages = self.input_type.partition("/")
        if not (of_queries and slash and of_passages):
            raise ConfigError(
                f"embedder.input_type={self.input_type}: write auto, none, or the two values with "
                "a slash between, such as query/passage"
            )
        return "input_type", of_queries, of_passages
