"""Documents in memory, and enough of Elasticsearch's search for what convrag asks: exact, small and slow.

Words are runs of letters and digits, lower-cased; Elasticsearch's own analyzers differ. Tokens of the inference
endpoint are words with 1 + log(count), and a token for each stem of five letters: a model that expands, if not a clever
one.
"""

import fnmatch
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


class ApiError(Exception):
    """An error as Elasticsearch words it."""

    def __init__(self, status: int, type_: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.body = {
            "error": {"type": type_, "reason": reason, "root_cause": [{"type": type_, "reason": reason}]},
            "status": status,
        }


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def expand(text: str) -> dict[str, float]:
    """What the inference endpoint makes of a text."""
    counts = Counter(words(text)) + Counter(f"##{word[:5]}" for word in words(text))
    return {token: 1 + math.log(count) for token, count in counts.items()}


@dataclass
class Index:
    """An index: `documents` by id, of which those in `searchable` were there at the last refresh."""

    name: str
    mappings: Json
    settings: Json
    documents: dict[str, Json] = field(default_factory=dict)
    searchable: dict[str, Json] = field(default_factory=dict)
    aliases: set[str] = field(default_factory=set)
    writes: Counter[str] = field(default_factory=Counter)

    def put(self, id_: str, source: Json, processed: Json) -> None:
        self._validate(processed)
        self.documents[id_] = processed
        self.writes[id_] += 1

    def refresh(self) -> None:
        self.searchable = dict(self.documents)
        self.__dict__.pop("postings", None)

    def source(self, id_: str) -> Json:
        """What comes back of a document."""
        hidden = self.mappings.get("_source", {}).get("excludes", [])
        return {name: value for name, value in self.documents[id_].items() if name not in hidden}

    def kind(self, name: str, type_: str) -> Json:
        """A field's mapping. Raises ApiError where it is of another type."""
        mapping = self.mappings["properties"].get(name, {})
        if mapping.get("type") != type_:
            raise ApiError(400, "query_shard_exception", f"[{name}] is {mapping.get('type')}, not {type_}")
        return mapping

    def _validate(self, document: Json) -> None:
        for name, mapping in self.mappings["properties"].items():
            value = document.get(name)
            if value is None:
                continue
            if mapping["type"] == "dense_vector" and (len(value) != mapping["dims"] or not any(value)):
                raise ApiError(400, "document_parsing_exception", f"[{name}] has {len(value)} dimensions, or no length")
            if mapping["type"] == "sparse_vector":
                for token, weight in value.items():
                    if "." in token or not weight > 0:
                        raise ApiError(400, "document_parsing_exception", f"[{name}]: {token!r}={weight} is no feature")


class Engine:
    """Indexes, aliases, pipelines and endpoints of a cluster."""

    def __init__(self) -> None:
        self.indexes: dict[str, Index] = {}
        self.pipelines: dict[str, list[Json]] = {}
        self.endpoints: dict[str, Json] = {}
        self.deployed: set[str] = set()
        self.licence = "trial"
        self.ml_node = True

    def resolve(self, expression: str) -> list[Index]:
        """The indexes that a name, an alias or a pattern stands for."""
        if "*" in expression:
            return [index for name, index in sorted(self.indexes.items()) if fnmatch.fnmatchcase(name, expression)]
        if expression in self.indexes:
            return [self.indexes[expression]]
        if found := [index for index in self.indexes.values() if expression in index.aliases]:
            return found
        raise ApiError(404, "index_not_found_exception", f"no such index [{expression}]")

    def create(self, name: str, mappings: Json, settings: Json) -> None:
        if name in self.indexes:
            raise ApiError(400, "resource_already_exists_exception", f"index [{name}] already exists")
        analyzers = {"standard", "english", "simple", "whitespace", "german", "french"}
        for field_, mapping in mappings["properties"].items():
            if mapping.get("analyzer", "standard") not in analyzers:
                reason = f"analyzer [{mapping['analyzer']}] has not been configured in mappings for [{field_}]"
                raise ApiError(400, "mapper_parsing_exception", reason)
        self.indexes[name] = Index(name, mappings, settings)

    def write(self, index: Index, id_: str, source: Json) -> str:
        """Index a document that must be new; what became of it."""
        if id_ in index.documents:
            raise ApiError(409, "version_conflict_engine_exception", f"[{id_}]: version conflict, document exists")
        processed = dict(source)
        for processor in self.pipelines.get(index.settings.get("default_pipeline", ""), []):
            wanted = processor["inference"]
            self.infer(wanted["model_id"])
            for step in wanted["input_output"]:
                processed[step["output_field"]] = expand(source[step["input_field"]])
        for mapping in index.mappings["properties"].values():
            if mapping["type"] == "semantic_text":
                self.infer(mapping["inference_id"])
        index.put(id_, source, processed)
        return "created"

    def infer(self, model: str) -> None:
        """Raise ApiError where this endpoint, or model, cannot make tokens."""
        if self.licence not in ("trial", "platinum", "enterprise"):
            raise ApiError(403, "security_exception", "current license is non-compliant for [inference]")
        if model not in self.endpoints and model not in self.deployed:
            raise ApiError(404, "resource_not_found_exception", f"Inference endpoint not found [{model}]")
        if model in self.endpoints and self.endpoints[model]["service_settings"]["model_id"] not in self.deployed:
            raise ApiError(409, "status_exception", "Trained model deployment is not allocated to any nodes")

    def deploy(self, inference_id: str, config: Json) -> None:
        if self.licence not in ("trial", "platinum", "enterprise"):
            raise ApiError(403, "security_exception", "current license is non-compliant for [ml]")
        if not self.ml_node:
            reason = "Could not start deployment because no ML nodes with sufficient capacity were found"
            raise ApiError(429, "status_exception", reason)
        self.endpoints[inference_id] = config
        self.deployed.add(config["service_settings"]["model_id"])

    def alias(self, action: Json) -> None:
        ((kind, given),) = action.items()
        found = self.resolve(given["index"])
        if kind == "remove_index":
            del self.indexes[given["index"]]
        for index in found:
            if kind == "add":
                index.aliases.add(given["alias"])
            elif kind == "remove":
                index.aliases.discard(given["alias"])

    def search(self, header: Json, body: Json) -> Json:
        """One search of an msearch. Raises ApiError."""
        (index,) = self.resolve(header["index"])
        size = body.get("size", 10)
        if size > 10_000:
            raise ApiError(400, "illegal_argument_exception", "Result window is too large (max_result_window)")
        scores = self._scores(index, body)
        best = sorted(scores, key=lambda id_: (-scores[id_], index.documents[id_].get("id", id_)))[:size]
        sorts = "sort" in body
        hits = [self._hit(index, id_, scores[id_], body, sorts=sorts) for id_ in best]
        return {
            "took": 1,
            "timed_out": False,
            "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
            "hits": {"max_score": None, "hits": hits},
            "status": 200,
        }

    def _hit(self, index: Index, id_: str, score: float, body: Json, *, sorts: bool) -> Json:
        wanted = body["_source"]["includes"]
        source = {name: value for name, value in index.source(id_).items() if name in wanted}
        hit = {"_index": index.name, "_id": id_, "_score": score, "_source": source}
        return hit | ({"sort": [score, source["id"]]} if sorts else {})

    def _scores(self, index: Index, body: Json) -> dict[str, float]:
        if "knn" in body:
            return self._knn(index, body["knn"])
        return self._query(index, body["query"])

    def _knn(self, index: Index, wanted: Json) -> dict[str, float]:
        if not wanted["k"] <= wanted["num_candidates"] <= 10_000:
            raise ApiError(400, "illegal_argument_exception", "[num_candidates] must be between k and 10000")
        index.kind(wanted["field"], "dense_vector")
        query = wanted["query_vector"]
        scores = {
            id_: (1 + _cosine(query, document[wanted["field"]])) / 2
            for id_, document in index.searchable.items()
            if wanted["field"] in document
        }
        best = sorted(scores, key=lambda id_: (-scores[id_], id_))[: wanted["k"]]
        return {id_: scores[id_] for id_ in best}

    def _query(self, index: Index, query: Json) -> dict[str, float]:
        ((kind, given),) = query.items()
        if kind == "bool":
            return _sum(self._query(index, part) for part in given["should"])
        if kind == "match":
            ((name, wanted),) = given.items()
            return _scaled(self._bm25(index, name, wanted["query"]), wanted["boost"])
        if kind == "semantic":
            mapping = index.kind(given["field"], "semantic_text")
            self.infer(mapping["inference_id"])
            return _dot(expand(given["query"]), index.searchable, lambda document: expand(document["content"]))
        assert kind == "sparse_vector", f"the stand-in knows no query {kind!r}"
        if "inference_id" in given:
            self.infer(given["inference_id"])
        return self._tokens(index, given["field"], given.get("query_vector") or expand(given["query"]))

    def _tokens(self, index: Index, name: str, query: Mapping[str, float]) -> dict[str, float]:
        index.kind(name, "sparse_vector")
        return _dot(query, index.searchable, lambda document: document.get(name, {}))

    def _bm25(self, index: Index, name: str, text: str) -> dict[str, float]:
        mapping = index.kind(name, "text")
        if mapping.get("index") is False:
            raise ApiError(400, "query_shard_exception", f"Cannot search on field [{name}] since it is not indexed.")
        similarity = index.settings["similarity"][mapping["similarity"]]
        lengths = {id_: len(words(document[name])) for id_, document in index.searchable.items()}
        average = sum(lengths.values()) / max(len(lengths), 1)
        scores: dict[str, float] = {}
        for word, times in Counter(words(text)).items():
            counts = {id_: words(doc[name]).count(word) for id_, doc in index.searchable.items()}
            found = {id_: count for id_, count in counts.items() if count}
            idf = math.log(1 + (len(lengths) - len(found) + 0.5) / (len(found) + 0.5))
            for id_, count in found.items():
                norm = similarity["k1"] * (1 - similarity["b"] + similarity["b"] * lengths[id_] / average)
                scores[id_] = scores.get(id_, 0.0) + times * idf * count / (count + norm)
        return scores


def _cosine(left: list[float], right: list[float]) -> float:
    product = sum(a * b for a, b in zip(left, right, strict=True))
    return product / (math.hypot(*left) * math.hypot(*right))


def _dot(
    query: Mapping[str, float], documents: Mapping[str, Json], tokens: Callable[[Json], Mapping[str, float]]
) -> dict[str, float]:
    scores = {
        id_: sum(weight * have[token] for token, weight in query.items() if token in have)
        for id_, document in documents.items()
        if (have := tokens(document)) is not None
    }
    return {id_: score for id_, score in scores.items() if score > 0}


def _scaled(scores: dict[str, float], boost: float) -> dict[str, float]:
    return {id_: boost * score for id_, score in scores.items()}


def _sum(parts: Iterable[dict[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for part in parts:
        for id_, score in part.items():
            total[id_] = total.get(id_, 0.0) + score
    return total
