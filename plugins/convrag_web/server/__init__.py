"""The server of `task=serve`.

* `task`: the task, with its parameters.
* `serving`: from the task to a running server.
* `uvicorn_server`: Uvicorn, which lets turns finish at its end.
* `app`: the application: its routes, and what stands before them.
* `served_models`: named configurations, whose stages are shared.
* `model_overrides`: the overrides of the models that `task.models` names.
* `turn_runner`: turns, so many at once, each in a thread, and their events.
* `completions`: OpenAI's protocol: chat completions, and models.
* `openai_requests`: its requests.
* `openai_replies`: its replies and chunks.
* `message_history`: the messages of a request as a question with its history.
* `url_citations`: citations as its annotations.
* `conversations_api`: conversations that are kept: list, ask, show, regenerate, reset, delete.
* `conversation_schemas`: its requests and replies.
* `conversation_turns`: the model of a conversation, and one turn of it at a time.
* `conversation_export`: a conversation as Markdown or JSON.
* `event_stream`: replies as server-sent events.
* `json_reply`: strict JSON in requests and replies.
* `errors`: errors as OpenAI's object.
* `addresses`: the address of a server, its names, and who reaches it.
* `access`: token, Host and Origin of a request.
* `request_limits`: size and time of a request's body; clients that leave.
* `security_headers`: the headers of every reply.
* `static_files`: the files of the chat page and of the turn view.
* `docs_page`: /docs, a page of the OpenAPI description.
* `health`: /healthz and /metrics.
* `server_metrics`: counts for Prometheus, and a line of the log for each turn.
"""
