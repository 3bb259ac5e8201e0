"""Passwords and keys: how they are known, and how messages are cleared of them."""

from convrag.api.secrets import is_public_address, is_secret_name, redact, redact_address
