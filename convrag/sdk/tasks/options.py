"""The installed plugins and their options."""

from convrag.config.variants import Variant, variants, variants_of
from convrag.registry import plugins
from convrag.registry.option import Option
from convrag.registry.plugins import FIRST_PARTY, GROUP
from convrag.registry.registry import describe_option
from convrag.registry.schema import check_value

__all__ = [
    "FIRST_PARTY",
    "GROUP",
    "Option",
    "Variant",
    "check_value",
    "describe_option",
    "plugins",
    "variants",
    "variants_of",
]
