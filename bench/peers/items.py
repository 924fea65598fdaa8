"""The items every tool grades: half English, half Chinese, five passages each. Standard library only.

Sizes are those of a maintenance handbook: passages of about 160 words or 250 characters, answers of about 85
words or 135 characters. The same number always gives the same item.
"""

import json
import random
from pathlib import Path
from typing import Any

_TEXTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def items(count: int, *, night: int = 0) -> list[dict[str, Any]]:
    """`count` items: language, question, contexts, answer, reference; a later night has other answers."""
    return [_item(number, night) for number in range(count)]


def _item(number: int, night: int) -> dict[str, Any]:
    language = "en" if number % 2 == 0 else "zh"
    texts = _TEXTS[language]
    rng = random.Random(number)
    facts = _facts(rng, texts["words"], number)
    others = [_facts(rng, texts["words"], number) for _ in range(3)]
    said = facts | {"b": facts["b"] + night}
    return {
        "language": language,
        "question": texts["question"].format(**facts),
        "contexts": [
            texts["passage"].format(**known | {"k": place})
            for place, known in enumerate([facts, facts, *others], start=1)
        ],
        "answer": texts["answer"].format(**said),
        "reference": texts["reference"].format(**facts),
    }


def _facts(rng: random.Random, words: dict[str, list[str]], number: int) -> dict[str, Any]:
    drawn = {name: rng.choice(choices) for name, choices in words.items()}
    numbers = {
        "n": 100 + number,
        "a": rng.randint(5, 40),
        "b": rng.randint(40, 80),
        "c": rng.randint(100, 999),
    }
    return {name: word.format(**numbers) for name, word in drawn.items()} | numbers
