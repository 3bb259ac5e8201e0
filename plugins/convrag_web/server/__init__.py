"""The server of `task=serve`.

* `task`: the task, with its parameters.
* `serving`: the address, and Uvicorn, which lets turns finish at its end.
* `app`: the application: its routes, and what stands before them.
* `guard`: token, Host and Origin of a request, its size and time, clients that leave, the headers of every reply.
* `served_models`: named configurations, whose stages are shared, and the overrides that `task.models` names.
* `turn_runner`: turns, so many at once, each in a thread, and their events.
* `completions`: OpenAI's protocol: chat completions, and models.
* `openai_requests`: its requests, and their messages as a question with its history.
* `openai_replies`: its replies and chunks, with citations as annotations.
* `conversations_api`: conversations that are kept: list, ask, show, regenerate, reset, export, delete.
* `conversation_schemas`: its requests and replies.
* `conversation_turns`: the model of a conversation, and one turn of it at a time.
* `documents`: the document that a passage was cut from.
* `event_stream`: replies as server-sent events.
* `json_reply`: strict JSON in replies.
* `errors`: errors as OpenAI's object.
* `pages`: the files of the chat page and of the turn view, and /docs.
* `server_metrics`: counts for Prometheus, a line of the log for each turn, /healthz and /metrics.
"""
