"""convrag in the browser: a server with a chat page, and the reports of runs and grids.

* `server`: HTTP: the OpenAI protocol, and conversations with their state (`task=serve`).
* `page`: the chat page, as static files.
* `report`: report.html of a run, of a grid and of a comparison.
* `view`: how a turn is shown, in the chat page and in the reports.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the task."""
    register("task", "serve", "convrag_web.server.task:ServeTask")
