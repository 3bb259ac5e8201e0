"""The configuration of a command, and of a conversation."""

from convrag.config.choices import Command as Command, place_of as place_of
from convrag.config.compose import compose_with as compose_with, settings_of as settings_of
from convrag.config.settings import (
    PRESETS as PRESETS,
    Settings as Settings,
    read_metric_names as read_metric_names,
)
from convrag.config.yaml_files import user_folder as user_folder
from convrag.turn.conversations import (
    check_configuration as check_configuration,
    find_differences as find_differences,
)
