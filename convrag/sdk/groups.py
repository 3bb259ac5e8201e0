"""The groups of stages that a configuration chooses from."""

from convrag.api.groups import (
    GROUPS as GROUPS,
    OPTION_KEY as OPTION_KEY,
    SEVERAL as SEVERAL,
    options_group as options_group,
)
