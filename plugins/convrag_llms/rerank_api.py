"""`ranker=rerank_api`: a server with a `/rerank`, in any of the forms that servers have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from convrag_llms.errors import HttpError
from convrag_llms.json_requests import post_json, read_tokens
from convrag_llms.prices import TokenPrices, compute_server_cost, find_server_prices
from convrag_llms.ranker import ServerRanker
from convrag_llms.rerank_reply import Scores, read_scores
from convrag_llms.targets import PREFIX, find_address, find_model_name, list_missing_address
from convrag_llms.tokens import estimate_tokens

Form = Literal["cohere", "tei", "voyage"]
"""How a request is written."""

_HOSTS: Mapping[str, Form] = {"api.voyageai.com": "voyage"}
"""Host -> its form, where it is known before the first request."""

_PATH = "/rerank"


@dataclass(kw_only=True, eq=False)
class RerankAPIRanker(ServerRanker):
    """Score each text by a reranker at a server with /rerank: Cohere, Jina, Voyage, vLLM, TEI.

    Infinity and llama.cpp have it, too. Requests that may succeed later are repeated; a batch that
    is refused as too large is split; a text that is too long for the model is cut, with a note in
    the summary. The scores are the model's own: they order the texts of a query, and mean nothing
    else.

    Args:
        model: as the server names it; servers with one model ignore it.
        api_base: the server's address: https://api.cohere.com/v2, https://api.jina.ai/v1,
            https://api.voyageai.com/v1, http://localhost:8000. It is written into the run's files:
            one with a password goes into a variable that api_base_env names.
        api_key_env: the NAME of the environment variable that holds the key; None sends none.
        form: how requests are written. "cohere" has documents and top_n (Cohere, Jina, vLLM,
            Infinity, llama.cpp), "voyage" documents and top_k, "tei" texts. "auto" tries them, and
            remembers which the server takes.
        extra: what else this server takes, by name (max_tokens_per_doc, ...), sent as it is;
            extra_headers are sent as headers. A price that is not listed goes here as well, in US
            dollars: input_cost_per_query for a request, input_cost_per_token for a token.

    Raises:
        ConfigError: a parameter makes no sense, or would put a key into the configuration.
        LLMError: when it is used, the server gives no scores, or not one for each text.
    """

    prefix = PREFIX

    model: str = "default"
    form: Literal["auto", "cohere", "tei", "voyage"] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._known: tuple[Form, str] | None = None

    def check(self) -> Iterator[str]:
        """Yield what is missing; the address has no default."""
        if list_missing_address(self.endpoint):
            yield "name the server: {place}.api_base=http://localhost:8000"
            return
        yield from super().check()

    def find_prices(self) -> TokenPrices | None:
        """Return the user's prices, else those of the server; None where they are not listed."""
        address = find_address(self.endpoint)
        return find_server_prices(self.given_prices, find_model_name(self.endpoint), address)

    def ask(self, body: Mapping[str, Any], timeout: float) -> Scores:
        """Send one request, in the form that the server takes. Raises as post_json, too."""
        documents = body["documents"]
        form, address, data = self._post(body)
        values = read_scores(data, len(documents))
        self._known = (form, address)  # only what gave usable scores
        estimate = sum(map(estimate_tokens, documents)) + estimate_tokens(body["query"])
        tokens = read_tokens(data) or estimate
        cost = compute_server_cost(
            self.given_prices, find_model_name(self.endpoint), find_address(self.endpoint), tokens
        )
        return Scores(values, tokens, cost)

    def _post(self, body: Mapping[str, Any]) -> tuple[Form, str, Any]:
        """Send a request in each form and to each address until one is taken.

        Returns:
            The form and the address that were taken, and the JSON of the reply.

        Raises:
            HttpError: the first error that speaks of neither; or as `post_json`.
        """
        first_error: HttpError | None = None
        for form, address in self._list_tries():
            try:
                return form, address, post_json(self.endpoint, "", _write(form, body), address)
            except HttpError as error:
                if not _may_be_form(error, form):
                    raise
                first_error = first_error or error
        assert first_error is not None
        raise first_error

    def _list_tries(self) -> Iterator[tuple[Form, str]]:
        """Yield forms and addresses to try: what is known alone, else all that are possible."""
        if self._known:
            yield self._known
            return
        base = find_address(self.endpoint)
        host = urlsplit(base).hostname or ""
        forms: list[Form] = ["cohere", "tei"]
        if self.form != "auto":
            forms = [self.form]
        elif host in _HOSTS:
            forms = [_HOSTS[host]]
        for address in _list_addresses(base):
            for form in forms:
                yield form, address


def _list_addresses(base: str) -> list[str]:
    """List where a server may have its /rerank: below its address, or at the root (TEI)."""
    parts = urlsplit(base)
    path = parts.path.rstrip("/")
    if path.endswith(_PATH):
        return [base]
    paths = [f"{path}{_PATH}"]
    if path.endswith("/v1"):
        paths.append(f"{path.removesuffix('/v1')}{_PATH}")
    elif not path:
        paths.append(f"/v1{_PATH}")
    return [parts._replace(path=each).geturl() for each in paths]


def _write(form: Form, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write a request in a form; it comes in Cohere's."""
    request = dict(body)
    if form == "voyage":
        request["top_k"] = request.pop("top_n")
    if form == "tei":
        del request["top_n"], request["model"]
        request["texts"] = request.pop("documents")
        # Scores before the sigmoid, which would round the best ones to 1.
        request = {"raw_scores": True, "truncate": True, **request}
    return request


def _may_be_form(error: HttpError, form: Form) -> bool:
    """Whether an error may mean that the server knows another form, or another path."""
    if error.status_code in (404, 405):
        return True
    wanted = "documents" if form == "tei" else "texts"
    return error.status_code in (400, 422) and wanted in str(error)
