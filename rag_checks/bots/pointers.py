"""JSON pointers into a bot's reply: RFC 6901, plus `*` for every element of a list."""

from typing import Any, Final

from rag_checks.errors import ConfigError


class _Missing:
    """The type of MISSING."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""What a pointer to nowhere resolves to; JSON's null is None."""


def parse(pointer: str, *, key: str) -> tuple[str, ...]:
    """The steps of a pointer such as `/docs/*/text`; `` is the whole reply.

    Args:
        pointer: `/`-separated steps; `~1` stands for `/` and `~0` for `~` within a step.
        key: the setting it comes from, for the message.

    Raises:
        ConfigError: it does not start with `/`.
    """
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        raise ConfigError(f"JSON pointer {pointer!r} must start with '/', e.g. '/{pointer}'", key=key)
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/"))


def resolve(document: Any, steps: tuple[str, ...]) -> Any:
    """The value at a pointer, MISSING when there is none.

    `*` on a list gives a list with one value an element, in order; an element without the rest of the path
    gives None, so that lists taken from the same elements stay aligned. Lists of a further `*` are joined.
    """
    for place, step in enumerate(steps):
        if step == "*" and isinstance(document, list):
            return _each(document, steps[place + 1 :])
        document = _step(document, step)
        if document is MISSING:
            return MISSING
    return document


def _each(elements: list[Any], rest: tuple[str, ...]) -> list[Any]:
    found = [resolve(element, rest) for element in elements]
    if "*" in rest:
        return [value for part in found if isinstance(part, list) for value in part]
    return [None if value is MISSING else value for value in found]


def _step(document: Any, step: str) -> Any:
    if isinstance(document, dict):
        return document.get(step, MISSING)
    if isinstance(document, list) and step.isascii() and step.isdigit() and int(step) < len(document):
        return document[int(step)]
    return MISSING
