"""Errors that few plugins raise or catch; the others come from `convrag`."""

from convrag.api.errors import (
    ConversationChanged as ConversationChanged,
    ConversationsUnusable as ConversationsUnusable,
    CutReply as CutReply,
    FolderInUse as FolderInUse,
    JobLost as JobLost,
    LauncherFailed as LauncherFailed,
    MissingExtra as MissingExtra,
    NotReady as NotReady,
    OtherConfiguration as OtherConfiguration,
    PluginError as PluginError,
    RunStopped as RunStopped,
    StageFault as StageFault,
    UnidentifiedValue as UnidentifiedValue,
)
