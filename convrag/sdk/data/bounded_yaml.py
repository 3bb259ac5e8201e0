"""YAML within bounds: aliases cannot make a small text take all memory."""

from convrag.store.yaml_text import (
    YamlOutOfBounds as YamlOutOfBounds,
    check_yaml as check_yaml,
    parse_config as parse_config,
    parse_yaml as parse_yaml,
)
