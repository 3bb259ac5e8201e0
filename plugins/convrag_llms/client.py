"""The client of one model: how a server or a library is asked. What all calls share (retries, limits) is above it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from convrag_llms.reply import Reply


class TokenPrices(NamedTuple):
    """US dollars for a token of the input and of the output, at the highest rates, and the longest output in tokens."""

    input_price: float
    output_price: float
    max_output_tokens: int | None


class ModelClient(Protocol):
    """Asks one model, without repeating anything."""

    def load(self) -> None:
        """Import the libraries of the first request: that takes seconds, which are not the server's."""

    def ask(self, body: Mapping[str, Any], timeout: float, on_piece: Callable[[str], None] | None) -> Reply:
        """Send one request and read its reply.

        Args:
            body: the request, without address and key.
            timeout: seconds for the whole of it. The block of `deadline` bounds it, too.
            on_piece: is given the pieces of the text as they arrive; None asks for the reply in one piece.

        Raises:
            EmptyReply, IncompleteStream, ReplyTooLong, and the errors that `http_errors` can read.
        """

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, or estimate them."""

    def find_prices(self) -> TokenPrices | None:
        """The highest prices of the model's tokens; None where none is known."""

    def find_max_input_tokens(self) -> int | None:
        """The longest input of the model in tokens; None where it is not known."""
