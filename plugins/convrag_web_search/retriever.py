"""`retriever=web`: search on the web with SearXNG, Brave or Tavily."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Interval

from convrag import (
    Chunker,
    ConfigError,
    Document,
    Hit,
    Passage,
    Query,
    Ranker,
    Retriever,
    operational,
    use,
)
from convrag.sdk.identity import digest
from convrag.sdk.parallel import map_parallel
from convrag.sdk.search.fusion import reciprocal_rank_fusion
from convrag.sdk.search.queries import choose_queries
from convrag.sdk.secrets import redact_address
from convrag.sdk.types import remembered
from convrag_web_search.client import Failure, Limits, Pace, explain_failure, send
from convrag_web_search.engines import (
    ENGINES,
    Engine,
    Freshness,
    WebResult,
    find_address,
    list_missing,
    shorten_query,
)
from convrag_web_search.pages import PageFetcher, WebPage

_RRF_K = 60
"""The constant of reciprocal rank fusion, as in Cormack et al. 2009."""


@dataclass(kw_only=True, eq=False)
class WebRetriever(Retriever):
    """Search on the web with SearXNG, Brave or Tavily; results are kept, so a run can repeat.

    Each query of the rewrite is a request, the heaviest first; the rankings of several are fused by
    reciprocal rank. A result is a passage: its title, and the texts that the engine shows of it.
    With pages=true, the page itself is fetched as far as its site's robots.txt allows it, and cut
    by the chunker; its best passages stand in place of the snippet. Pages are fetched from public
    addresses only, past any proxy. The data set's passages are not searched.

    The store keeps the results of each query, and pages: the same run finds the same, and asks for
    nothing. SearXNG is your own server (SEARXNG_URL); Brave and Tavily take a key (BRAVE_API_KEY,
    TAVILY_API_KEY). The questions of users leave this machine.

    Args:
        engine: "searxng", "brave" or "tavily".
        api_base: the address of SearXNG, or one in place of the engine's own.
        results: results of each query.
        queries: the most queries of a turn that are searched for.
        language: of the results, as the engine names it ("de"); empty for its default. Tavily has
            none.
        freshness: "any", or not older than a "day", "week", "month" or "year".
        edition: any text, such as a date: results of another edition are asked for anew.
        pages: fetch the pages of the results.
        page_passages: passages of each page.
        chunker: cuts pages, where they are fetched.
        ranker: ranks the passages of a page, where it is fetched.
        interval: the least seconds between two requests to the engine.
        timeout: seconds for each request, of a page too.
        retries: tries after the first, where a server is overloaded or does not answer.
        retry_seconds: the most seconds of all waits between tries; where the server asks for a
            longer one, the search fails at once.

    Raises:
        ConfigError: a language is given for Tavily.
    """

    code_version = "1"
    libraries = ("selectolax",)
    env_vars: ClassVar[Sequence[str]] = ("SEARXNG_URL", "BRAVE_API_KEY", "TAVILY_API_KEY")

    engine: Literal["searxng", "brave", "tavily"] = "searxng"
    api_base: str | None = None
    results: Annotated[int, Interval(ge=1, le=20)] = 10
    queries: Annotated[int, Ge(1)] = 3
    language: str = ""
    freshness: Freshness = "any"
    edition: str = ""
    pages: bool = False
    page_passages: Annotated[int, Ge(1)] = 2
    chunker: Chunker = use("sentences")
    ranker: Ranker = use("bm25")
    interval: Annotated[float, operational, Ge(0)] = 0.0
    timeout: Annotated[float, operational, Ge(0.1)] = 10.0
    retries: Annotated[int, operational, Ge(0)] = 3
    retry_seconds: Annotated[float, operational, Ge(0)] = 60.0

    def __post_init__(self) -> None:
        if self.language and self.engine == "tavily":
            raise ConfigError(
                f"retriever.language={self.language!r}: Tavily has no such parameter: leave it "
                "out, or choose retriever.engine=brave"
            )
        self.limits = Limits(self.timeout, self.retries, self.retry_seconds)
        self.pace = Pace(self.interval)
        self.fetcher = PageFetcher(self.timeout)

    @classmethod
    def uses_stage(cls, name: str, parameters: Mapping[str, Any]) -> bool:
        """Use chunker and ranker for pages alone."""
        return bool(parameters["pages"])

    def check(self) -> Iterator[str]:
        """Say that an address or a key is missing."""
        engine = ENGINES[self.engine]
        yield from list_missing(engine, find_address(engine, self.api_base))

    def endpoints(self) -> Sequence[str]:
        """Return the engine's address."""
        address = find_address(ENGINES[self.engine], self.api_base)
        return [redact_address(address)] if address else []

    def note(self) -> str:
        """Say that the results are of the day on which they were asked for."""
        name = ENGINES[self.engine].name
        return (
            f"The passages are results of {name} on the day on which they were first asked for; "
            "the store keeps them, and another retriever.edition asks anew."
        )

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        """Search for the heaviest queries, and fuse what they find. Raises SearchFailed."""
        weights = self._weigh(queries)
        if not weights or k < 1:
            return []
        found = list(map_parallel(lambda text: self.find(text, self.results), weights))
        passages: dict[str, Passage] = {}
        rankings = []
        for text, results in zip(weights, found, strict=True):
            ranked = self._cut(text, results)
            passages |= {passage.id: passage for passage in ranked}
            rankings.append([passage.id for passage in ranked])
        scores = reciprocal_rank_fusion(rankings, _RRF_K, list(weights.values()))
        best = sorted(scores, key=lambda name: (-scores[name], name))[:k]
        return [Hit(passages[name], scores[name]) for name in best]

    @remembered()
    def find(self, query: str, count: int) -> list[WebResult]:
        """Ask the engine. Raises SearchFailed."""
        engine = self._engine
        request = engine.make_request(query, count)
        try:
            content = send(request, self.limits, self.pace)
        except Failure as error:
            failure = explain_failure(
                error, engine.name, engine.address, engine.explain(error.status)
            )
        else:
            return engine.read(content, count)
        # Outside of `except`: the original error may hold the key, and would be its context.
        raise failure

    @remembered()
    def fetch_page(self, url: str) -> WebPage:
        """Fetch a page. Raises Failure where it may be there another time."""
        return self.fetcher.fetch(url)

    @cached_property
    def _engine(self) -> Engine:
        """Make the engine; late, since a notebook may set its variables after composing."""
        engine = ENGINES[self.engine]
        key = os.environ.get(engine.key_variable, "") if engine.key_variable else ""
        address = find_address(engine, self.api_base)
        return engine(address, self.language, self.freshness, key)

    def _weigh(self, queries: Sequence[Query]) -> dict[str, float]:
        """Weigh the texts that are searched for, the heaviest first."""
        weights: dict[str, float] = {}
        for query in choose_queries(queries, "lexical"):
            text = shorten_query(query.text.replace("\0", " "))
            if any(character.isalnum() for character in text):
                weights[text] = weights.get(text, 0.0) + query.weight
        heaviest = sorted(weights, key=lambda text: -weights[text])[: self.queries]
        return {text: weights[text] for text in heaviest}

    def _cut(self, query: str, results: Sequence[WebResult]) -> list[Passage]:
        """Make the passages of results, in their order."""
        if not self.pages:
            return [self._make_passage(result) for result in results]
        fetched = map_parallel(self._try_page, results, workers=8)
        passages: list[Passage] = []
        for result, page in zip(results, fetched, strict=True):
            passages += self._cut_page(query, result, page) or [self._make_passage(result)]
        return passages

    def _make_passage(self, result: WebResult) -> Passage:
        """Make a passage of what the engine shows of a page.

        Another query may show another part of the page, so the id tells them apart.
        """
        text = "\n".join(result.texts)
        metadata = {"source": ENGINES[self.engine].name}
        if result.published:
            metadata["published"] = result.published
        name = f"{result.url}#{digest([text])[:8]}"
        return Passage(name, text, result.title, result.url, metadata)

    def _try_page(self, result: WebResult) -> WebPage:
        """Fetch a page; a failure that may pass is not remembered."""
        try:
            return self.fetch_page(result.url)
        except Failure as error:
            return WebPage("", problem=str(error))

    def _cut_page(self, query: str, result: WebResult, page: WebPage) -> list[Passage]:
        """Cut a page, and choose its best passages, in the order of their scores."""
        if not page.text:
            return []
        metadata = {"published": result.published} if result.published else {}
        title = result.title or page.title
        document = Document(result.url, page.text, title, result.url, metadata=metadata)
        passages = list(self.chunker.chunk(document))
        scores = self.ranker.score(query, [passage.content for passage in passages])
        ranked = sorted(range(len(passages)), key=lambda place: (-scores[place], place))
        return [passages[place] for place in ranked[: self.page_passages]]
