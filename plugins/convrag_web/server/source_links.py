"""Addresses of the server's pages of passages, and whether an address may be a link."""

import hmac
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit


def is_web_address(url: str) -> bool:
    """Return whether a browser opens an address safely; a link to `javascript:...` does harm."""
    with suppress(ValueError):  # "http://[broken"
        return url.lower().startswith(("http://", "https://")) and bool(urlsplit(url).netloc)
    return False


class SourceLinks(NamedTuple):
    """Makes the addresses of passages' pages; if the server has a token, they are signed.

    Args:
        token: the server's token; empty for none.
        public_url: where browsers reach the server; empty for the address of the request.
    """

    token: str
    public_url: str

    def make(self, address: str, model: str, domain: str, passage: str) -> str:
        """Make the address of a passage's page.

        Args:
            address: the address that the request came to.
            model: the name of the model that found the passage.
            domain: the passage's corpus.
            passage: the passage's id.
        """
        fields = {"model": model, "domain": domain, "passage": passage.encode("utf-8", "replace")}
        key = self.sign(model, domain, passage)
        if key:
            fields["key"] = key
        root = (self.public_url or address).rstrip("/")
        return f"{root}/source?{urlencode(fields)}#passage"

    def sign(self, model: str, domain: str, passage: str) -> str:
        """Return the signature of a passage's address; empty if the server has no token."""
        if not self.token:
            return ""
        names = (model, domain, passage)
        message = "\n".join(quote(name, errors="replace") for name in names).encode()
        return hmac.new(self.token.encode(), message, "sha256").hexdigest()[:32]
