"""The installed plugins and their options."""

from convrag.config.variants import (
    Variant as Variant,
    variants as variants,
    variants_of as variants_of,
)
from convrag.registry import plugins as plugins
from convrag.registry.option import Option as Option
from convrag.registry.option_text import describe_option as describe_option
from convrag.registry.parameters import Parameter as Parameter
from convrag.registry.plugins import FIRST_PARTY as FIRST_PARTY
from convrag.registry.schema import plain_value as plain_value
