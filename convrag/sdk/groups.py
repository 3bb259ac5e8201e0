"""The groups of stages that a configuration chooses from."""

from convrag.api.groups import GROUPS, OPTION_KEY, SEVERAL, options_group
