"""Errors that few plugins raise or catch; the others come from `convrag`."""

from convrag.api.errors import ConversationChanged as ConversationChanged
from convrag.api.errors import ConversationsUnusable as ConversationsUnusable
from convrag.api.errors import JobLost as JobLost
from convrag.api.errors import LauncherFailed as LauncherFailed
from convrag.api.errors import MissingExtra as MissingExtra
from convrag.api.errors import NotReady as NotReady
from convrag.api.errors import OtherConfiguration as OtherConfiguration
from convrag.api.errors import PluginError as PluginError
from convrag.api.errors import RunStopped as RunStopped
from convrag.api.errors import StageFault as StageFault
from convrag.api.errors import UnidentifiedValue as UnidentifiedValue
