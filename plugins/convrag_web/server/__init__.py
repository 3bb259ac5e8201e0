"""The server of `task=serve`.

* `task`: the task, with its parameters.
* `serving`: the address, and Uvicorn, which lets turns finish at its end.
* `app`: the application: its routes, the files of its page, and its guard: token, Host and Origin,
  size and time.
* `served_models`: named configurations, whose stages are shared, and one turn of a conversation at
  a time.
* `turn_runner`: turns, so many at once, each in a thread, and their events.
* `openai_api`: OpenAI's protocol: chat completions, responses and models.
* `openai_requests`: its requests, and their messages as a question with its history.
* `chores`: the requests among them that ask for no document.
* `completions`, `responses`: its replies, whole and streamed.
* `citations`: those of its replies: counted from 1, with annotations and addresses.
* `source_page`: the page that such an address opens.
* `conversations_api`: conversations that are kept: list, ask, show, regenerate, reset, export,
  delete, documents.
* `conversation_schemas`: its requests and replies.
* `event_stream`: replies as server-sent events.
* `errors`: strict JSON in replies, and errors as OpenAI's object.
* `server_metrics`: counts for Prometheus, a line of the log for each turn, /healthz and /metrics.
"""
