"""Telling a cron expression from a slip of the pen; Airflow, which knows them all, is not always there."""

import re

# Lowest and highest value of each cron field, and the names its values have.
_CRON = (
    (0, 59, ""),
    (0, 23, ""),
    (1, 31, ""),
    (1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"),
    (0, 7, "sun mon tue wed thu fri sat"),
)


def is_cron(text: str) -> bool:
    """Whether a text is a cron expression of five fields, or one of the names such as @daily."""
    if text.startswith("@"):
        return text in {"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}
    fields = text.lower().split()
    return len(fields) == len(_CRON) and all(
        _is_cron_part(part, *limits)
        for field, limits in zip(fields, _CRON, strict=True)
        for part in field.split(",")
    )


def _is_cron_part(part: str, low: int, high: int, names: str) -> bool:
    found = re.fullmatch(r"(?:\*|(\w+)(?:-(\w+))?)(?:/([1-9]\d*))?", part, re.ASCII)
    if found is None:
        return False
    ends = [
        names.split().index(end) + low if end in names.split() else end for end in found.groups()[:2] if end
    ]
    numbers = [int(end) for end in ends if str(end).isdecimal()]
    return len(numbers) == len(ends) and numbers == sorted(numbers) and all(low <= n <= high for n in numbers)
