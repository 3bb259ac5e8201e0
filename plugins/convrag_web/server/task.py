"""`task=serve`: a server for the chat page, for OpenAI's clients, and for stored conversations."""

import logging
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Interval
from omegaconf import DictConfig

from convrag import ConfigError, Task

log = logging.getLogger("convrag.serve")

_OPEN_TO_ALL_PAGES = (
    "task.cors=[*] without a token: every page that a browser on this machine shows can ask this "
    "server, and read its conversations and documents. Name the pages, or put a token into the "
    "environment variable CONVRAG_TOKEN"
)


@dataclass(kw_only=True, eq=False)
class ServeTask(Task):
    """Serve conversations over HTTP: a chat page, OpenAI's protocol below /v1, an API below /api.

    It ends at Ctrl-C or SIGTERM, once the turns in progress have ended. docs/serve.md says how to
    call it.

    Args:
        host: the address to listen at; one that other machines reach needs a token in the variable
            CONVRAG_TOKEN.
        port: the port to listen at; 0 takes a free one.
        models: named configurations to choose from: each name with overrides added to the command's
            own, '{mmr: "rewriter=mmr llm=claude", dhrag: "+seed=dhrag"}', or a folder of presets
            like those of conf/seed, a YAML file for each; by default one model, convrag, the
            command's own configuration.
        domain: the corpus for questions that name none; needed by clients that cannot name one.
        conversations: where conversations are stored: a file of SQLite or an address of SQLAlchemy,
            such as postgresql+psycopg://user:${oc.env:PASSWORD}@host/database; by default
            conversations.db in the store.
        workers: the number of turns at once.
        queue: the number of turns that may wait; more are refused with status 503.
        queue_timeout: the seconds that a turn may wait for others to end; then it is refused with
            status 503.
        timeout: the seconds that a turn may take.
        grace: the seconds that turns in progress have to finish when the server is told to end.
        cors: addresses of other web pages that may ask, such as https://chat.example.org.
        hosts: names by which this server is reached, for example behind a proxy; its address and
            localhost are always among them.
        suggestions: the number of follow-up questions that the llm suggests when a client asks, as
            the page does at a click.
        attachments: whether images, sounds and files in messages of OpenAI's protocol are refused
            or skipped.
        sources: how answers of OpenAI's protocol name their sources: by annotations alone, or also
            in a list after the text, for clients that show no annotations.
        public_url: where browsers reach this server, such as https://chat.example.org; by default
            the address that a request came to. The sources in OpenAI's protocol open there.
        originals: whether those who ask may open the files of documents, next to their texts, as
            links of the page and of sources.
        max_body: the bytes that a request may have.
        max_messages: the messages that a request may have.
        max_characters: the characters that a message may have.

    Raises:
        ConfigError: the address needs a token, or `public_url` is not a web address.
    """

    requires: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("fastapi", "uvicorn", "httptools", "prometheus_client", "watchfiles"), "convrag[serve]"
    )
    env_vars = ("CONVRAG_TOKEN",)
    default_generator = "direct"

    host: str = "127.0.0.1"
    port: Annotated[int, Interval(ge=0, le=65535)] = 8642
    models: dict[str, str | list[str]] | Path | None = None
    domain: str | None = None
    conversations: str | None = None
    workers: Annotated[int, Ge(1)] = 64
    queue: Annotated[int, Ge(0)] = 256
    queue_timeout: Annotated[float, Ge(1)] = 60.0
    timeout: Annotated[float, Ge(1)] = 300.0
    grace: Annotated[float, Ge(0)] = 30.0
    cors: Sequence[str] = ()
    hosts: Sequence[str] = ()
    suggestions: Annotated[int, Ge(0)] = 3
    attachments: Literal["refuse", "ignore"] = "refuse"
    sources: Literal["annotations", "text"] = "annotations"
    public_url: str = ""
    originals: bool = False
    max_body: Annotated[int, Ge(1)] = 1_000_000
    max_messages: Annotated[int, Ge(1)] = 2000
    max_characters: Annotated[int, Ge(1)] = 100_000

    def __post_init__(self) -> None:
        if self.public_url and not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", self.public_url):
            raise ConfigError(
                f"task.public_url={self.public_url}: give an address such as https://chat.example.org"
            )

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Serve until told to end."""
        from convrag.sdk.libraries import missing_extra

        if missing := missing_extra(self.requires, "task=serve"):
            raise missing
        from convrag import Conversations
        from convrag.sdk.tasks.talks import describe_answering
        from convrag.sdk.tasks.turns import ending_conversations
        from convrag_web.server import serving
        from convrag_web.server.app import make_app
        from convrag_web.server.guard import Access
        from convrag_web.server.served_model import ModelOptions
        from convrag_web.server.served_models import build_models
        from convrag_web.server.watching import watching

        hosts = serving.list_hosts(self.host, self.hosts)
        access = Access(self._read_token(), hosts, self.cors)
        self._warn_if_open(access.token)
        options = ModelOptions(self.domain, self.suggestions)
        store = Path(config.store.path)
        database = self.conversations or store / "conversations.db"
        with ExitStack() as stack:
            conversations = stack.enter_context(closing(Conversations(database)))
            models, wirings = build_models(self.models, conversations, options)
            bound = stack.enter_context(serving.bind_socket(self.host, self.port))
            stack.enter_context(watching(models, store))
            for wiring in wirings:
                wiring.prepare(for_new_questions=True)
            app = make_app(models, conversations, self, access)
            server = serving.TurnServer(app, grace=self.grace)
            observers = [model.pipeline.audience.observers for model in models.values()]
            stack.enter_context(ending_conversations(observers, serving.print_line))
            serving.run_server(server, bound, describe_answering(wirings[0]))
        return 0

    def _warn_if_open(self, token: str) -> None:
        """Log a warning if any page that a browser shows may ask, without a token."""
        if "*" in self.cors and not token:
            log.warning(_OPEN_TO_ALL_PAGES)

    def _read_token(self) -> str:
        """Read the token. Raises ConfigError if the address needs one, and there is none."""
        from convrag_web.server.serving import is_loopback

        token = os.environ.get("CONVRAG_TOKEN", "").strip()
        if not token and not is_loopback(self.host):
            raise ConfigError(
                f"task.host={self.host}: other machines reach this address, so a token is needed: "
                "put one into the environment variable CONVRAG_TOKEN"
            )
        return token
