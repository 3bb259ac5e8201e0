"""Passwords and keys: how they are known in names and texts, and how messages are cleared of them."""

import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

MASK = "***"
_MIN_LENGTH = 6  # a shorter text is no key, and could be part of any word

_NAME = re.compile(
    r"(api|access|account|auth|client|encryption|master|private|secret|shared|signing|subscription)[-_ ]?key$"
    r"|(^|[^a-z])(access|api|auth|bearer|id|refresh|security|session|user)[-_ ]?token$"
    r"|^(token|secret|pwd)$|(api|client|shared)[-_ ]?secret$"
    r"|(password|passwd|passphrase|authorization|credentials?|cookie)$",
    re.IGNORECASE,
)
_LOOSE_NAME = re.compile(
    r"(key|(?<!per_)token|secret|password|credentials?|authorization|cookie)$", re.IGNORECASE
)
_QUERY_NAME = re.compile(r"^(key|sig)$|signature$", re.IGNORECASE)
_VARIABLE = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_HOLDER = re.compile(
    r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)$", re.IGNORECASE
)

# In these, a null byte stands for a reference such as ${oc.env:PASSWORD}.
_USER = re.compile(r"(?<=://)[^/@\s]+@")
_PASSWORD = re.compile(
    r"https?://[^\s/?#\0]*@"  # whoever stands there: a token is often the user
    r"|//[^/?#@:\n]*:[^/?#\n\0]*@"
    r"|://[^\s/?#@:]*:(?!\d+(?:[/?#]|$))[^\s@\0]*@"  # a password with a slash in it is no port
    r"|^[\w.+-]+:[^\s@/\0]+@[\w.-]+(:\d+)?(/|$)",  # without a scheme
    re.IGNORECASE,
)
_QUERY = re.compile(r"[?&;#]([\w.%-]+)=[^&\s'\"\0]+")
_KEY = re.compile(
    r"(?<![\w-])(sk-(?=[\w-]*\d)[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_\w{20,}|gsk_\w{20,}"
    r"|r8_\w{20,}|xai-\w{20,}|nvapi-[\w-]{20,}|pplx-\w{20,}|tgp_v1_[\w-]{20,}|xox[abeoprs]-[\w-]{10,}"
    r"|(AKIA|ASIA)[A-Z0-9]{16}(?!\w)|AIza[\w-]{30,}|ya29\.[\w-]{20,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\b(?i:bearer|basic)\s+(?=[\w.~+/=-]*\d)[\w.~+/=-]{8,}"
)


def is_secret_name(name: str, *, loose: bool = False) -> bool:
    """Whether a parameter, header or key of this name holds a secret: "api_key", "Authorization",
    "x-api-key".

    Args:
        name: the name.
        loose: whether any name that ends in key, token, secret, ... counts: for names that nobody
            has declared.
    """
    return bool((_LOOSE_NAME if loose else _NAME).search(name))


def describe_secret(text: str, held: Mapping[str, str] | None = None) -> str:
    """What is secret in a text: "a password", "a key", "the value of OPENAI_API_KEY"; empty where
    nothing is.

    A reference such as ${oc.env:OPENAI_API_KEY} is none.

    Args:
        text: any text.
        held: what `list_held_secrets` gives, for many texts.
    """
    values = list_held_secrets() if held is None else held
    if variable := next((name for name, value in values.items() if value in text), ""):
        return f"the value of {variable}"
    plain = text
    while (shorter := re.sub(r"\$\{[^{}]*\}", "\0", plain)) != plain:
        plain = shorter
    if _PASSWORD.search(plain):
        return "a password"
    queried = _QUERY.findall(plain)
    if _KEY.search(plain) or any(
        is_secret_name(name) or _QUERY_NAME.search(name) for name in queried
    ):
        return "a key"
    return ""


def list_held_secrets() -> dict[str, str]:
    """The environment's variables that are named like a secret, with values that no word and no
    path can be.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if _HOLDER.search(name) and len(value) >= 8 and not _is_path(value)
    }


def redact(message: str, *secrets: str | None, address: str | None = None) -> str:
    """A message with asterisks in place of secrets.

    Args:
        message: any text.
        secrets: what to redact beside the environment's secrets: variables named like a secret, and
            passwords in addresses.
        address: one whose user, password and query are secrets too.
    """
    values = [
        *_list_environment_secrets(),
        *filter(None, secrets),
        *(_find_secret_parts(address) if address else ()),
    ]
    for secret in sorted(values, key=len, reverse=True):
        if len(secret) >= _MIN_LENGTH:
            message = message.replace(secret, MASK)
    return _USER.sub("", message)


def redact_address(address: str) -> str:
    """An address without user, password and query."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return MASK
    if not parts.netloc:  # sqlite:///file, or no address at all
        return MASK if describe_secret(address) else address.partition("?")[0]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def is_public_address(address: str) -> bool:
    """Whether an address has no user, password or query parameter that could be secret."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    secret = any(_VARIABLE.search(name) for name, _ in parse_qsl(parts.query))
    return "@" not in parts.netloc and not secret and not describe_secret(address)


def _list_environment_secrets() -> Iterator[str]:
    """List what is secret in the environment."""
    for name, value in os.environ.items():
        if _VARIABLE.search(name) and not _is_path(value):
            yield value
        if "://" in value and "@" in value:
            yield from _find_secret_parts(value)


def _is_path(value: str) -> bool:
    return value.startswith(("/", "~", "."))


def _find_secret_parts(address: str) -> list[str]:
    """The parts of an address that may be secret, also decoded, and as a header of HTTP basic
    authentication.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return []
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    basic = b64encode(f"{user}:{password}".encode()).decode() if user or password else ""
    queried = (value for _, value in parse_qsl(parts.query))
    return [parts.username or "", parts.password or "", user, password, basic, *queried]
