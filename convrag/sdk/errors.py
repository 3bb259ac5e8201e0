"""Errors that few plugins raise or catch; the others come from `convrag`."""

from convrag.api.errors import (
    ConversationChanged,
    ConversationsUnusable,
    JobLost,
    LauncherFailed,
    MissingExtra,
    NotReady,
    OtherConfiguration,
    PluginError,
    RunStopped,
    StageFault,
    UnidentifiedValue,
)
