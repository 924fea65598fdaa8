"""Semantic similarity by an `/embeddings` endpoint: batched, each text paid for once."""

import base64
import math
from array import array
from collections.abc import Awaitable, Callable, Iterable, Sequence
from operator import mul
from typing import Any

from rag_checks.errors import JudgeError
from rag_checks.protocols import ReplyCache
from rag_checks.records import content_hash

# The smallest limit among common endpoints (DashScope's v3 and v4 models take 10 texts a request).
BATCH = 10
Embed = Callable[[list[str]], Awaitable[dict[str, Any]]]


class Embedder:
    """Vectors of texts, from the cache or the endpoint.

    Args:
        embed: posts one batch of texts and returns the endpoint's reply.
        settings: endpoint and model, for the cache key.
        cache: where vectors are kept; None keeps nothing.
    """

    def __init__(self, embed: Embed, settings: dict[str, Any], cache: ReplyCache | None) -> None:
        self._embed = embed
        self._settings = settings
        self._cache = cache

    async def similarity(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Cosine of each pair's vectors, clipped to 0..1; 0 when a text of the pair is blank.

        Raises:
            JudgeError: kind format, when the endpoint's vectors cannot be used.
        """
        texts = dict.fromkeys(text for pair in pairs if _both_filled(pair) for text in pair)
        vectors = await self._vectors(texts)
        return [cosine(vectors[a], vectors[b]) if _both_filled((a, b)) else 0.0 for a, b in pairs]

    async def _vectors(self, texts: Iterable[str]) -> "dict[str, array[float]]":
        vectors: dict[str, array[float]] = {}
        missing: list[str] = []
        for text in texts:
            stored = self._cache.get(self._key(text)) if self._cache is not None else None
            if stored is not None:
                vectors[text] = _unpacked(stored["embedding"])
            else:
                missing.append(text)
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            for text, vector in zip(batch, _read(await self._embed(batch), len(batch)), strict=True):
                vectors[text] = vector
                if self._cache is not None:
                    self._cache.put(self._key(text), {"embedding": _packed(vector)})
        return vectors

    def _key(self, text: str) -> str:
        return content_hash({"embedding": self._settings, "text": text})


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Cosine similarity clipped to 0..1.

    Raises:
        JudgeError: kind format, for a zero vector or vectors of different length, which have none.
    """
    norm = math.hypot(*one) * math.hypot(*other)
    if len(one) != len(other) or norm == 0:
        raise JudgeError("the embedding endpoint gave vectors that have no cosine", kind="format")
    return min(1.0, max(0.0, float(sum(map(mul, one, other))) / norm))


def _both_filled(pair: tuple[str, str]) -> bool:
    return bool(pair[0].strip() and pair[1].strip())


def _read(reply: dict[str, Any], count: int) -> "list[array[float]]":
    """The vectors of a reply in the order of the texts sent."""
    try:
        rows = {row["index"]: array("f", row["embedding"]) for row in reply["data"]}
        vectors = [rows[index] for index in range(count)]
    except (KeyError, TypeError, OverflowError) as error:
        raise JudgeError("the embedding endpoint's reply is not a list of vectors", kind="format") from error
    if len(reply["data"]) != count or not all(math.isfinite(sum(vector)) and vector for vector in vectors):
        raise JudgeError(f"{count} texts were sent to be embedded, other vectors came back", kind="format")
    return vectors


def _packed(vector: "array[float]") -> str:
    return base64.b64encode(vector.tobytes()).decode()


def _unpacked(text: str) -> "array[float]":
    vector = array("f")
    vector.frombytes(base64.b64decode(text))
    return vector
