"""Reading rubrics: every mistake is named with file, line and key."""

from functools import lru_cache
from pathlib import Path

import yaml
from pydantic import ValidationError

from rag_checks.errors import ConfigError
from rag_checks.metrics.rubrics.model import Rubric
from rag_checks.yaml_files import described, dotted, read_yaml

_SHIPPED = Path(__file__).parent / "shipped"
# Ten times as fast, where PyYAML has it. Not for files of people: deep nesting overflows its stack.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_rubric(path: Path) -> Rubric:
    """One rubric file.

    Raises ConfigError listing every problem found, one a line.
    """
    data, lines = read_yaml(path)
    try:
        rubric = Rubric.model_validate(data)
    except ValidationError as error:
        raise ConfigError("\n".join(described(error, Rubric, path, lines))) from error
    problems = [f"{path}:{lines.near(key)}: {dotted(key)}: {said}" for key, said in rubric.misfits()]
    if problems:
        raise ConfigError("\n".join(problems))
    return rubric


@lru_cache(maxsize=1)
def shipped_rubrics() -> tuple[Rubric, ...]:
    """The rubrics that come with the project, by name; a test reads each of them as strictly as any."""
    return tuple(
        Rubric.model_validate(yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader))  # noqa: S506 - safe
        for path in sorted(_SHIPPED.glob("*.yaml"))
    )
