"""The configuration of a command, and of a conversation."""

from convrag.config.choices import Command as Command
from convrag.config.choices import place_of as place_of
from convrag.config.compose import compose_with as compose_with
from convrag.config.compose import settings_of as settings_of
from convrag.config.settings import read_metric_names as read_metric_names
from convrag.turn.conversations import check_configuration as check_configuration
from convrag.turn.conversations import find_differences as find_differences
