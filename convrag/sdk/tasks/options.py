"""The installed plugins and their options."""

from convrag.config.variants import Variant, variants, variants_of
from convrag.registry import plugins
from convrag.registry.option import Option
from convrag.registry.parameters import Parameter
from convrag.registry.plugins import FIRST_PARTY
from convrag.registry.registry import describe_option
from convrag.registry.schema import plain_value
