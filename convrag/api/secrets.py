"""Passwords and keys: how they are recognised, and how they are removed from messages."""

import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

MASK = "***"
_MIN_LENGTH = 6
"""The least characters of a secret; a shorter text could be part of any word."""

_NAME = re.compile(
    r"(api|access|account|auth|client|encryption|master|private|secret|shared|signing"
    r"|subscription)[-_ ]?key$"
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


_noted: set[str] = set()
"""The values that the configurations of this process take from the environment for headers."""


def note_secret(text: str) -> None:
    """Note that a text is secret, and so is each variable's value in it, whatever their names are.

    A header may hold a key under any name: `{X-Team: "Key ${oc.env:GATE}"}`.
    """
    _noted.add(text)
    for value in os.environ.values():
        if len(value) >= _MIN_LENGTH and value in text:
            _noted.add(value)


def is_noted_secret(text: str) -> bool:
    """Whether a text was noted as a secret."""
    return text in _noted


def is_secret_name(name: str, *, loose: bool = False) -> bool:
    """Whether a name is a secret's: "api_key", "Authorization", "x-api-key".

    Args:
        name: the name of a parameter, a header or a key.
        loose: whether any name that ends in key, token, secret, ... counts: for names that nobody
            has declared.
    """
    return bool((_LOOSE_NAME if loose else _NAME).search(name))


def describe_secret(text: str, held: Mapping[str, str] | None = None) -> str:
    """Describe the secret in a text: "a password", "a key", "the value of OPENAI_API_KEY".

    A reference such as ${oc.env:OPENAI_API_KEY} is not a secret.

    Args:
        text: any text.
        held: the result of `list_held_secrets`, for many texts.

    Returns:
        The description; empty if there is no secret.
    """
    values = list_held_secrets() if held is None else held
    for name, value in values.items():
        if value in text:
            return f"the value of {name}"
    plain = _replace_references(text)
    if _PASSWORD.search(plain):
        return "a password"
    if _KEY.search(plain):
        return "a key"
    for name in _QUERY.findall(plain):
        if is_secret_name(name) or _QUERY_NAME.search(name):
            return "a key"
    return ""


def _replace_references(text: str) -> str:
    """Replace references such as ${oc.env:PASSWORD}, also nested ones, by null bytes."""
    while True:
        shorter = re.sub(r"\$\{[^{}]*\}", "\0", text)
        if shorter == text:
            return text
        text = shorter


def list_held_secrets() -> dict[str, str]:
    """List the environment's variables with secrets: name -> value.

    They are named like secrets, or a header has their values, which can be neither a word nor a
    path.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if len(value) >= 8
        and not _is_path(value)
        and (_HOLDER.search(name) or is_noted_secret(value))
    }


def redact(message: str, *secrets: str | None, address: str | None = None) -> str:
    """Replace the secrets in a message by asterisks.

    Secrets of the environment are variables named like a secret, passwords in addresses, and what
    headers have from it.

    Args:
        message: any text.
        secrets: further secrets.
        address: an address whose user, password and query are secrets too.
    """
    values = [*_list_environment_secrets(), *filter(None, secrets)]
    if address:
        values += _find_secret_parts(address)
    for secret in sorted(values, key=len, reverse=True):
        if len(secret) >= _MIN_LENGTH:
            message = message.replace(secret, MASK)
    return _USER.sub("", message)


def redact_address(address: str) -> str:
    """Return an address without user, password and query."""
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
    yield from list(_noted)
    for name, value in os.environ.items():
        if _VARIABLE.search(name) and not _is_path(value):
            yield value
        if name.upper().endswith("_HEADERS"):  # OTEL_EXPORTER_OTLP_HEADERS=x-team=...,x-key=...
            yield from (part.partition("=")[2].strip() for part in value.split(","))
        if "://" in value and "@" in value:
            yield from _find_secret_parts(value)


def _is_path(value: str) -> bool:
    return value.startswith(("/", "~", "."))


def _find_secret_parts(address: str) -> list[str]:
    """List the parts of an address that may be secret, also decoded, and as a basic-auth header."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return []
    user = unquote(parts.username or "")
    password = unquote(parts.password or "")
    basic = b64encode(f"{user}:{password}".encode()).decode() if user or password else ""
    queried = (value for _, value in parse_qsl(parts.query))
    return [parts.username or "", parts.password or "", user, password, basic, *queried]
