"""A server on loopback in Elasticsearch's place, for what the engines of
tests/support/search_engines.py cannot show: inference endpoints, licences, and failures that a test
chooses.

It keeps documents and analyses nothing: a search scores each document by the beginnings of words
that it shares with all that the query says. Requests are checked against the published description.
"""

import contextlib
import json
import re
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from elasticsearch_schema import find_problem

Json = dict[str, Any]


class ApiError(Exception):
    """An error as Elasticsearch words it."""

    def __init__(self, status: int, type_: str, reason: str) -> None:
        self.status = status
        self.body = {"error": {"type": type_, "reason": reason}, "status": status}


@dataclass
class Fault:
    """Something that goes wrong with the next `times` requests whose path has `path` in it.

    Args:
        path: part of the path.
        times: how often.
        status: answer with this error.
        headers: of that answer.
        close: close the connection without an answer; "reset" resets it.
        delay: seconds before the answer.
        product: what the header of the product says; None leaves it out.
        items: positions of a bulk request or an msearch that are rejected with `status`.
        shards: shards of each search that fail.
    """

    path: str = ""
    times: int = 1
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    close: str = ""
    delay: float = 0.0
    product: str | None = "Elasticsearch"
    items: tuple[int, ...] = ()
    shards: int = 0


@dataclass
class Index:
    """An index: documents by id, and how often each was written."""

    mappings: Json
    settings: Json
    aliases: set[str] = field(default_factory=set)
    documents: dict[str, Json] = field(default_factory=dict)
    writes: Counter[str] = field(default_factory=Counter)


def find_beginnings(text: str) -> set[str]:
    return {word[:5] for word in re.findall(r"\w+", text.lower())}


class Server:
    """`problems` are requests that are not as described; `requests` all until now: (method, target, headers, body)."""

    def __init__(self) -> None:
        self.indexes: dict[str, Index] = {}
        self.pipelines: dict[str, list[Json]] = {}
        self.endpoints: dict[str, Json] = {}
        self.deployed: set[str] = set()
        self.licence = "trial"
        self.ml_node = True
        self.problems: list[str] = []
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.bulk_items = 0
        self.faults: list[Fault] = []
        self.on_bulk: Callable[[], None] = lambda: None
        self.on_search: Callable[[], None] = lambda: None
        self.lock = threading.RLock()
        self._http = _Http(("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self}))
        self.address = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def inject_faults(self, *faults: Fault) -> None:
        """Inject these faults into the next requests, instead of those injected before."""
        self.faults = list(faults)

    def paths(self, part: str = "") -> list[str]:
        """ "METHOD /path" of each request until now whose path has this in it."""
        return [f"{method} {target}" for method, target, _, _ in self.requests if part in target]

    def searches(self) -> list[list[Json]]:
        """The lines of each msearch until now."""
        lines = [
            body.splitlines()
            for _, target, _, body in self.requests
            if target.startswith("/_msearch")
        ]
        return [[json.loads(line) for line in each] for each in lines]

    def take_fault(self, target: str) -> Fault:
        with self.lock:
            fault = next(
                (each for each in self.faults if each.times > 0 and each.path in target),
                Fault(times=1),
            )
            fault.times -= 1
            return fault

    def answer(self, method: str, target: str, body: bytes, fault: Fault) -> Any:
        """The reply to a request. Raises ApiError."""
        path = unquote(urlsplit(target).path).strip("/").split("/")
        given = json.loads(body) if body and path[-1] not in ("_bulk", "_msearch") else body
        match method, path:
            case "GET", [""]:
                return {"version": {"number": "9.1.0", "build_flavor": "default"}}
            case "GET", ["_license"]:
                return {"license": {"type": self.licence, "status": "active"}}
            case "POST", ["_msearch"]:
                self.on_search()
                lines = [json.loads(line) for line in body.splitlines()]
                return {
                    "responses": [self._search(n, lines, fault) for n in range(len(lines) // 2)]
                }
            case "POST", ["_aliases"]:
                for added in (action["add"] for action in given["actions"] if "add" in action):
                    self.indexes[added["index"]].aliases.add(added["alias"])
            case "PUT", ["_ingest", "pipeline", name]:
                self.pipelines[name] = given["processors"]
            case _, ["_inference", "sparse_embedding", name]:
                return self._inference(method, name, given)
            case "GET", ["_ml", "trained_models", model, "_stats"]:
                return {"trained_model_stats": [self._describe_model(model)]}
            case "PUT", [name]:
                self.indexes[name] = Index(given["mappings"], given["settings"])
            case "GET", [name]:
                return {
                    each: {"aliases": {}, "mappings": self.indexes[each].mappings}
                    for each in self._resolve(name)
                }
            case _, [name, action]:
                return self._act(self.indexes[self._resolve(name)[0]], action, given, fault)
        return {"acknowledged": True}

    def _act(self, index: Index, action: str, given: Any, fault: Fault) -> Json:
        if action == "_mapping":
            index.mappings |= given
        elif action == "_mget":
            return {"docs": [{"_id": id_, "found": id_ in index.documents} for id_ in given["ids"]]}
        elif action == "_bulk":
            self.on_bulk()
            lines = [json.loads(line) for line in given.splitlines()]
            pairs = enumerate(zip(lines[::2], lines[1::2], strict=True))
            items = [
                self._create(index, n, head["create"]["_id"], source, fault)
                for n, (head, source) in pairs
            ]
            return {"items": [{"create": item} for item in items]}
        return {"count": len(index.documents), "_shards": {"failed": 0}}

    def _create(self, index: Index, place: int, id_: str, source: Json, fault: Fault) -> Json:
        self.bulk_items += 1
        try:
            if place in fault.items:
                raise ApiError(
                    fault.status, "es_rejected_execution_exception", "rejected execution"
                )
            if id_ in index.documents:
                raise ApiError(
                    409, "version_conflict_engine_exception", f"[{id_}]: document exists"
                )
            for processor in self.pipelines.get(index.settings.get("default_pipeline", ""), []):
                self.infer(processor["inference"]["model_id"])
        except ApiError as error:
            return {"_id": id_, **error.body}
        index.documents[id_] = source
        index.writes[id_] += 1
        return {"_id": id_, "status": 201}

    def _resolve(self, name: str) -> list[str]:
        """The indexes that a name, an alias or a pattern stands for."""
        found = [
            each
            for each, index in self.indexes.items()
            if fnmatchcase(each, name) or name in index.aliases
        ]
        if not found and "*" not in name:
            raise ApiError(404, "index_not_found_exception", f"no such index [{name}]")
        return found

    def _search(self, place: int, lines: list[Json], fault: Fault) -> Json:
        header, body = lines[2 * place : 2 * place + 2]
        try:
            if place in fault.items:
                raise ApiError(
                    fault.status, "es_rejected_execution_exception", "rejected execution of search"
                )
            (name,) = self._resolve(header["index"])
            if body["size"] > 10_000:
                raise ApiError(
                    400,
                    "illegal_argument_exception",
                    "Result window is too large (max_result_window)",
                )
        except ApiError as error:
            return error.body
        for inference_id in re.findall(r'"inference_id": "(.*?)"', json.dumps(body)):
            self.infer(inference_id)
        asked = find_beginnings(json.dumps(body.get("query", "")))
        documents = self.indexes[name].documents.values()
        scores = {
            each["id"]: (len(asked & find_beginnings(each["content"])), each) for each in documents
        }
        best = sorted(
            (each for each in scores.values() if each[0]),
            key=lambda each: (-each[0], each[1]["id"]),
        )
        hits = [
            {"_score": float(score), "_source": source} for score, source in best[: body["size"]]
        ]
        shards = {"total": 2, "successful": 2 - fault.shards, "failed": fault.shards}
        return {"timed_out": False, "_shards": shards, "hits": {"hits": hits}}

    def infer(self, model: str) -> None:
        """Raise ApiError where this endpoint cannot make tokens."""
        if self.licence not in ("trial", "platinum", "enterprise"):
            raise ApiError(
                403, "security_exception", "current license is non-compliant for [inference]"
            )
        if model not in self.endpoints:
            raise ApiError(
                404, "resource_not_found_exception", f"Inference endpoint not found [{model}]"
            )
        if self.endpoints[model]["service_settings"]["model_id"] not in self.deployed:
            raise ApiError(
                409, "status_exception", "Trained model deployment is not allocated to any nodes"
            )

    def deploy(self, inference_id: str, config: Json) -> None:
        """Create an endpoint. Raises ApiError where the cluster cannot."""
        if self.licence not in ("trial", "platinum", "enterprise"):
            raise ApiError(403, "security_exception", "current license is non-compliant for [ml]")
        if not self.ml_node:
            raise ApiError(
                429,
                "status_exception",
                "Could not start deployment: no ML nodes with sufficient capacity",
            )
        self.endpoints[inference_id] = config
        self.deployed.add(config["service_settings"]["model_id"])

    def _inference(self, method: str, name: str, given: Any) -> Json:
        if method == "PUT":
            self.deploy(name, given)
        elif method == "POST":
            self.infer(name)
        elif name not in self.endpoints:
            raise ApiError(
                404, "resource_not_found_exception", f"Inference endpoint not found [{name}]"
            )
        return {"endpoints": [name]}

    def _describe_model(self, model: str) -> Json:
        if model not in (
            config["service_settings"]["model_id"] for config in self.endpoints.values()
        ):
            return {"model_id": model}
        state = (
            {"state": "started"}
            if model in self.deployed
            else {"state": "starting", "reason": "No ML nodes exist"}
        )
        return {"model_id": model, "deployment_stats": {"model_id": model, "nodes": [], **state}}


class _Http(ThreadingHTTPServer):
    request_queue_size = 256  # by default, the sixth connection would be refused
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # the client went away
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    owner: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = (
        True  # else a body waits 40 ms for the client to acknowledge the headers
    )

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.owner.requests.append((self.command, self.path, headers, body))
        if problem := find_problem(self.command, self.path, body):
            self.owner.problems.append(problem)
        fault = self.owner.take_fault(self.path)
        time.sleep(fault.delay)
        if fault.close:
            if fault.close == "reset":
                self.connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
                self.connection.close()
            self.close_connection = True
            return
        try:
            if fault.status and not fault.items:
                raise ApiError(fault.status, "unavailable", "an injected fault")
            with self.owner.lock:
                status, answer = 200, self.owner.answer(self.command, self.path, body, fault)
        except ApiError as error:
            status, answer = error.status, error.body
        data = json.dumps(answer).encode()
        self.send_response(status)
        product = {"X-Elastic-Product": fault.product} if fault.product else {}
        sent = {"content-type": self.headers.get("accept", ""), "content-length": str(len(data))}
        for name, value in {**sent, **product, **fault.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = handle_any

    def log_message(self, *args: Any) -> None:
        pass


@contextlib.contextmanager
def running_server() -> Iterator[Server]:
    """Run a server; at the end, assert that all requests were as described."""
    server = Server()
    try:
        yield server
    finally:
        server.close()
    assert not server.problems, "\n".join(server.problems[:5])
