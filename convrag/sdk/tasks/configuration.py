"""The configuration of a command, and of a conversation."""

from convrag.config.choices import Command, place_of
from convrag.config.compose import compose_with, settings_of
from convrag.config.settings import PRESETS, Settings, read_metric_names
from convrag.config.yaml_files import user_folder
from convrag.turn.conversations import check_configuration, find_differences
