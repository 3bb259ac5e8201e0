"""For people who write plugins, and who wonder what is installed and why something does not run."""

from convrag import Register, hookimpl
from convrag_kit.list_plugins import ListPlugins
from convrag_kit.new_plugin import NewPlugin

__all__ = ["ListPlugins", "NewPlugin", "convrag_register"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Offer the tasks."""
    register("task", "plugins", ListPlugins)
    register("task", "new_plugin", NewPlugin)
