"""The configuration of a command, and of a conversation."""

from convrag.config.command import Command as Command, read_place as read_place
from convrag.config.compose import (
    compose_command as compose_command,
    compose_from_command as compose_from_command,
    read_settings as read_settings,
)
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
