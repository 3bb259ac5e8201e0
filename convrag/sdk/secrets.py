"""Passwords and keys: how they are recognised, and removed from messages."""

from convrag.api.secrets import (
    is_public_address as is_public_address,
    is_secret_name as is_secret_name,
    redact as redact,
    redact_address as redact_address,
)
