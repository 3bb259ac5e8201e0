"""A server on loopback that keeps documents and answers the calls that convrag makes of Elasticsearch, with the real
product's headers, and with faults where a test injects them. Each request and each reply is checked against the
published description.

`python tests/elasticsearch_server.py` serves until its standard input ends, and prints its address; it checks nothing
then, for it is meant for measuring.
"""

import contextlib
import json
import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from elasticsearch_engine import ApiError, Engine, Index, Json, expand

_VERSION = {
    "build_date": "2026-01-01T00:00:00Z",
    "build_flavor": "default",
    "build_hash": "0",
    "build_snapshot": False,
    "build_type": "docker",
    "lucene_version": "10.0.0",
    "minimum_index_compatibility_version": "8.0.0",
    "minimum_wire_compatibility_version": "8.18.0",
}


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


class Server:
    """One node. Several of them may share an engine. `problems` are requests and replies that are not as described."""

    def __init__(self, engine: Engine | None = None, *, major: int = 9, specification: Any = None) -> None:
        self.engine = engine or Engine()
        self.major = major
        self.specification = specification
        self.problems: list[str] = []
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.bulk_items = 0
        self.faults: list[Fault] = []
        self.on_bulk: Callable[[], None] = lambda: None
        self.keep = True
        self.lock = threading.RLock()
        self._http = _LongQueueServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
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
        return [
            [json.loads(line) for line in body.splitlines()]
            for _, target, _, body in self.requests
            if target.startswith("/_msearch")
        ]

    def fault(self, target: str) -> Fault:
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and fault.path in target:
                    fault.times -= 1
                    return fault
        return Fault(times=0)

    def check(self, check: Callable[[], None]) -> None:
        try:
            check()
        except AssertionError as error:
            self.problems.append(str(error))

    def answer(self, method: str, target: str, body: bytes, fault: Fault) -> tuple[int, Any]:
        """The reply to a request. Raises ApiError."""
        path = unquote(urlsplit(target).path)
        for route, wanted, handle in ROUTES:
            if method in wanted.split("|") and (found := re.fullmatch(route, path)):
                with self.lock:
                    return 200, handle(self, body, fault, *found.groups())
        raise ApiError(400, "illegal_argument_exception", f"the stand-in knows no {method} {path}")

    def info(self, *_: Any) -> Json:
        number = f"{self.major}.1.0"
        named = {"name": "node", "cluster_name": "loopback", "cluster_uuid": "u", "tagline": "You Know, for Search"}
        return {**named, "version": {**_VERSION, "number": number}}

    def get_index(self, body: bytes, fault: Fault, name: str) -> Json:
        return {index.name: _state(index) for index in self.engine.resolve(name)}

    def create_index(self, body: bytes, fault: Fault, name: str) -> Json:
        given = json.loads(body)
        self.engine.create(name, given.get("mappings", {"properties": {}}), given.get("settings", {}))
        return {"acknowledged": True, "shards_acknowledged": True, "index": name}

    def delete_index(self, body: bytes, fault: Fault, name: str) -> Json:
        for index in self.engine.resolve(name):
            del self.engine.indexes[index.name]
        return {"acknowledged": True}

    def put_mapping(self, body: bytes, fault: Fault, name: str) -> Json:
        for index in self.engine.resolve(name):
            index.mappings |= json.loads(body)
        return {"acknowledged": True}

    def put_pipeline(self, body: bytes, fault: Fault, name: str) -> Json:
        self.engine.pipelines[name] = json.loads(body)["processors"]
        return {"acknowledged": True}

    def refresh(self, body: bytes, fault: Fault, name: str) -> Json:
        for index in self.engine.resolve(name):
            index.refresh()
        return {"_shards": {"total": 1, "successful": 1, "failed": 0}}

    def count(self, body: bytes, fault: Fault, name: str) -> Json:
        held = sum(len(index.searchable) for index in self.engine.resolve(name))
        return {"count": held, "_shards": {"total": 1, "successful": 1, "failed": 0, "skipped": 0}}

    def mget(self, body: bytes, fault: Fault, name: str) -> Json:
        (index,) = self.engine.resolve(name)
        ids = json.loads(body)["ids"]
        return {"docs": [{"_index": index.name, "_id": id_, "found": id_ in index.documents} for id_ in ids]}

    def aliases(self, body: bytes, fault: Fault) -> Json:
        for action in json.loads(body)["actions"]:
            self.engine.alias(action)
        return {"acknowledged": True}

    def bulk(self, body: bytes, fault: Fault, name: str) -> Json:
        self.on_bulk()
        (index,) = self.engine.resolve(name)
        lines = body.splitlines()
        items = []
        for place in range(0, len(lines), 2):
            ((operation, action),) = json.loads(lines[place]).items()
            self.bulk_items += 1
            turned_away = place // 2 in fault.items
            items.append({operation: self._item(index, action["_id"], lines[place + 1], fault, turned_away)})
        return {"took": 1, "errors": any("error" in item[op] for item in items for op in item), "items": items}

    def _item(self, index: Index, id_: str, line: bytes, fault: Fault, turned_away: bool) -> Json:
        answer = {"_index": index.name, "_id": id_}
        try:
            if turned_away:
                raise ApiError(fault.status, "es_rejected_execution_exception", "rejected execution of coordinating op")
            result = self.engine.write(index, id_, json.loads(line))
        except ApiError as error:
            return {**answer, "status": error.status, "error": error.body["error"]}
        shards = {"total": 1, "successful": 1, "failed": 0}
        return {**answer, "status": 201, "result": result, "_version": 1, "_shards": shards}

    def msearch(self, body: bytes, fault: Fault) -> Json:
        lines = [json.loads(line) for line in body.splitlines()]
        return {"took": 1, "responses": [self._search(place, lines, fault) for place in range(len(lines) // 2)]}

    def _search(self, place: int, lines: list[Json], fault: Fault) -> Json:
        try:
            if place in fault.items:
                raise ApiError(fault.status, "es_rejected_execution_exception", "rejected execution of search")
            found = self.engine.search(lines[2 * place], lines[2 * place + 1])
        except ApiError as error:
            return error.body
        if fault.shards:
            found["_shards"] = {"total": 2, "successful": 2 - fault.shards, "skipped": 0, "failed": fault.shards}
        return found

    def infer(self, body: bytes, fault: Fault, name: str) -> Json:
        self.engine.infer(name)
        texts = json.loads(body)["input"]
        return {"sparse_embedding": [{"is_truncated": False, "embedding": expand(text)} for text in texts]}

    def get_endpoint(self, body: bytes, fault: Fault, name: str) -> Json:
        if name not in self.engine.endpoints:
            raise ApiError(404, "resource_not_found_exception", f"Inference endpoint not found [{name}]")
        return {"endpoints": [_endpoint(name, self.engine.endpoints[name])]}

    def put_endpoint(self, body: bytes, fault: Fault, name: str) -> Json:
        self.engine.deploy(name, json.loads(body))
        return _endpoint(name, self.engine.endpoints[name])

    def licence(self, *_: Any) -> Json:
        dates = {"issue_date": "2026-01-01T00:00:00.000Z", "issue_date_in_millis": 1, "start_date_in_millis": -1}
        named = {"issued_to": "loopback", "issuer": "elasticsearch", "max_nodes": 1000, "uid": "u"}
        return {"license": {**dates, **named, "status": "active", "type": self.engine.licence}}

    def model_stats(self, body: bytes, fault: Fault, model: str) -> Json:
        size = {"model_size_bytes": 1, "required_native_memory_bytes": 1}
        stats: Json = {"model_id": model, "model_size_stats": size, "pipeline_count": 0}
        using = [
            name for name, config in self.engine.endpoints.items() if config["service_settings"]["model_id"] == model
        ]
        if using or model in self.engine.deployed:
            started = model in self.engine.deployed
            stats["deployment_stats"] = {
                "deployment_id": next(iter(using), model),
                "model_id": model,
                "nodes": [],
                "peak_throughput_per_minute": 0,
                "priority": "normal",
                "start_time": 1,
                "state": "started" if started else "starting",
                **({} if started else {"reason": "No ML nodes exist in the cluster"}),
            }
        return {"count": 1, "trained_model_stats": [stats]}


NAME = r"/([^/_][^/]*)"
ENDPOINT = r"/_inference/sparse_embedding/([^/]+)"
ROUTES: list[tuple[str, str, Callable[..., Any]]] = [
    ("/", "GET", Server.info),
    (NAME, "GET", Server.get_index),
    (NAME, "PUT", Server.create_index),
    (NAME, "DELETE", Server.delete_index),
    (f"{NAME}/_mapping", "PUT|POST", Server.put_mapping),
    (f"{NAME}/_refresh", "POST|GET", Server.refresh),
    (f"{NAME}/_count", "POST|GET", Server.count),
    (f"{NAME}/_mget", "POST|GET", Server.mget),
    (f"{NAME}/_bulk", "PUT|POST", Server.bulk),
    ("/_msearch", "POST|GET", Server.msearch),
    ("/_aliases", "POST", Server.aliases),
    (r"/_ingest/pipeline/([^/]+)", "PUT", Server.put_pipeline),
    (ENDPOINT, "POST", Server.infer),
    (ENDPOINT, "GET", Server.get_endpoint),
    (ENDPOINT, "PUT", Server.put_endpoint),
    ("/_license", "GET", Server.licence),
    (r"/_ml/trained_models/([^/]+)/_stats", "GET", Server.model_stats),
]


class _LongQueueServer(ThreadingHTTPServer):
    """Queues many connections; by default, the sixth would be refused."""

    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # the client went away
            super().handle_error(request, client_address)


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else a body waits 40 ms for the client to acknowledge the headers

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            if server.keep:
                server.requests.append((self.command, self.path, headers, body))
            if server.specification:
                server.check(lambda: server.specification.check_request(self.command, self.path, headers, body))
            fault = server.fault(self.path)
            time.sleep(fault.delay)
            if fault.close:
                self.hang_up(fault)
                return
            status, answer, more = self.reply(body, headers, fault)
            if server.specification:
                server.check(lambda: server.specification.check_reply(self.command, self.path, status, answer))
            self.send(status, answer, {**more, **fault.headers}, fault)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_any

        def reply(self, body: bytes, headers: dict[str, str], fault: Fault) -> tuple[int, Any, dict[str, str]]:
            try:
                self.check_version(headers)
                if fault.status and not fault.items:
                    raise ApiError(fault.status, "unavailable", "an injected fault")
                return *server.answer(self.command, self.path, body, fault), {}
            except ApiError as error:
                return error.status, error.body, {}

        def check_version(self, headers: dict[str, str]) -> None:
            """A cluster speaks its own version and the one before."""
            said = re.search(r"compatible-with=(\d+)", headers.get("accept", ""))
            if said and int(said[1]) not in (server.major, server.major - 1):
                known = f"{server.major} or {server.major - 1}"
                reason = f"Accept version must be either version {known}, but found {said[1]}."
                raise ApiError(400, "media_type_header_exception", reason)

        def send(self, status: int, answer: Any, headers: dict[str, str], fault: Fault) -> None:
            data = b"" if self.command == "HEAD" else json.dumps(answer).encode()
            accepted = self.headers.get("accept", "application/json")
            self.send_response(status)
            sent = {"content-type": accepted, "content-length": str(len(data)), **headers}
            if fault.product:
                sent["X-Elastic-Product"] = fault.product
            for name, value in sent.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def hang_up(self, fault: Fault) -> None:
            if fault.close == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            self.close_connection = True

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


def _state(index: Index) -> Json:
    aliases: Json = {alias: {} for alias in sorted(index.aliases)}
    return {"aliases": aliases, "mappings": index.mappings, "settings": {"index": index.settings}}


def _endpoint(name: str, config: Json) -> Json:
    return {**config, "inference_id": name, "task_type": "sparse_embedding"}


def read_specification() -> Any:
    """Read the published description; None where it is absent, and then nothing is checked against it."""
    from elasticsearch_schema import PATH, specification

    return specification() if PATH.is_file() else None


@contextlib.contextmanager
def running_server(**options: Any) -> Iterator[Server]:
    """Run a server; at the end, assert that all requests and replies were as described."""
    server = Server(**options)
    try:
        yield server
    finally:
        server.close()
    assert not server.problems, "\n".join(server.problems[:5])


if __name__ == "__main__":
    measured = Server()
    measured.keep = False
    print(measured.address, flush=True)  # noqa: T201
    for command in sys.stdin:  # "count NAME" answers with what an index holds
        name = command.split()[1]
        print(sum(len(index.documents) for index in measured.engine.resolve(name)), flush=True)  # noqa: T201
    measured.close()
