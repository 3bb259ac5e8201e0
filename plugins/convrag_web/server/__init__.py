"""The server of `task=serve`.

Startup:

* `task`: the task, with its parameters.
* `options`: those parameters that the application reads.
* `serving`: the address, and Uvicorn, whose end lets turns finish.
* `app`: the application, put together from its parts, routes and pages.
* `server_parts`: the parts that the routes use.

Models and turns:

* `model_overrides`: the parameter `task.models`.
* `served_models`: the models by name; building them.
* `served_model`: a model: a named pipeline.
* `loaded_data`: the data set of a model, as it was read.
* `watching`: reading data sets again when their files change.
* `turn_runner`: a limited number of turns at once.
* `running_turn`: a turn in a thread, and its events.
* `turn_threads`: the threads, and those in which a stage hangs.
* `conversation_turns`: stored conversations, and their turns, one at a time.
* `shared_turns`: turns that go on when their client leaves.

OpenAI's protocol, below /v1:

* `openai_api`: the routes.
* `openai_requests`: the requests.
* `message_reading`: messages as a question with its history.
* `chores`: requests of chat programs that need no document.
* `response_history`: the turns before a response.
* `reply_form`, `completions`, `responses`: the replies, whole and as events.
* `open_end`: what is held back of a streamed answer: a mark or code that is not complete.
* `cited_reply`: the citations in replies, counted from 1, with annotations.
* `source_links`: the addresses of passages' pages.
* `source_page`: such a page.
* `original_file`: the files of documents.

Conversations, below /api:

* `conversations_api`: the routes.
* `conversation_schemas`: the requests and replies.
* `conversation_export`: downloads of conversations.
* `document_view`: a document with the place of a passage.
* `feedback`: feedback on answers.

Common to all:

* `connections`: limits of connections, before a request is looked at.
* `guard`: who may ask: token, Host and Origin, size and time of a request.
* `long_texts`: cuts long texts into parts.
* `reply_headers`: the headers of every reply, such as its Content-Security-Policy.
* `page_files`: the files of the chat page.
* `health_api`, `server_metrics`: /healthz and /metrics; counts for Prometheus, and log lines.
* `sse`: replies as server-sent events.
* `json_reply`, `errors`: strict JSON, and errors as OpenAI's object.
* `request_texts`: the texts in requests, and their length.
"""
