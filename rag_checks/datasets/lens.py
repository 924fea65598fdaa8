"""Reading a tool's row so that writing it gives the same row again, and the reverse.

A shape's `read` and `write` say what they can. What `write(read(row))` would get wrong is remembered in
`rag_checks_kept[shape]` as (path, value) pairs, and what `read(write(fields))` would get wrong goes into the
shape's bag. When a field is changed in between, a remembered value that says the old one gives way.
"""

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rag_checks.datasets.shapes import Json, Shape

KEPT = "rag_checks_kept"
_SET, _GONE = "set", "absent"
_Path = tuple[str, ...]
_Edit = Callable[[Json], None]


def read(row: Json, shape: Shape) -> Json:
    """Our row of a tool's row."""
    fields = _said(row, shape)
    written = dict(_leaves(_written(fields, shape)))
    given = dict(_leaves(row))
    changed = [
        [list(path), value]
        for path, value in given.items()
        if path not in written or not _same(written[path], value)
    ]
    # A dict that was empty when written and is not in the row is filled by what is set, not removed.
    inside = {path[:end] for path in given for end in range(1, len(path) + 1)}
    gone = [list(path) for path in written if path not in inside]
    if changed or gone:
        # Nobody else's key has this name: what is there came out of the bag.
        fields.setdefault(KEPT, {})[shape.name] = {_SET: changed, _GONE: gone}
    return fields


def write(fields: Json, shape: Shape) -> Json:
    """A tool's row of our row."""
    fields = copy.deepcopy(fields)
    kept: Json = {}
    if isinstance(fields.get(KEPT), dict) and shape.name in fields[KEPT]:
        kept = fields[KEPT].pop(shape.name)
        if not fields[KEPT]:
            del fields[KEPT]
    row = _written(fields, shape)
    edits = [*(_setting(path, value) for path, value in kept.get(_SET, ()))]
    edits += [_dropping(path) for path in kept.get(_GONE, ())]
    whole = _edited(row, edits)
    wanted = _said(row, shape)
    if _same(_said(whole, shape), wanted):
        return whole
    for edit in edits:
        trial = _edited(row, [edit])
        if _same(_said(trial, shape), wanted):
            row = trial
    return row


def _said(row: Json, shape: Shape) -> Json:
    """All that a tool's row says in our fields, what its bag holds included."""
    bare = copy.deepcopy(row)
    bag = _take(bare, shape.bag)
    fields = shape.read(bare)
    if bag.keys() & fields.keys() or not _is_ours(bag):
        return shape.read(copy.deepcopy(row))  # not written by us: whatever it holds is the tool's own
    return fields | bag


def _is_ours(bag: Json) -> bool:
    """Whether a bag may be one that `write` filled: what other shapes left in it is as `read` writes it."""
    if KEPT not in bag:
        return True
    kept = bag[KEPT]
    return (
        isinstance(kept, dict)
        and bool(kept)
        and all(isinstance(one, dict) and one.keys() == {_SET, _GONE} for one in kept.values())
    )


def _written(fields: Json, shape: Shape) -> Json:
    """A tool's row, with what it has no place for in its bag."""
    heard = shape.read(shape.write(fields))
    plain = {name: value for name, value in fields.items() if name in heard and _same(heard[name], value)}
    row: Json = copy.deepcopy(shape.write(plain))
    rest = {name: value for name, value in fields.items() if name not in plain}
    if rest:
        _put(row, shape.bag, copy.deepcopy(rest))
    return row


# Paths through dicts


def _leaves(row: Json, at: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    for name, value in row.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*at, name))
        else:
            yield (*at, name), value


def _put(row: Json, path: Sequence[str], value: Any) -> None:
    *folders, name = path
    for folder in folders:
        if not isinstance(row.get(folder), dict):
            row[folder] = {}
        row = row[folder]
    row[name] = value


def _drop(row: Json, path: Sequence[str]) -> None:
    """Remove a leaf, and the dicts that only held it."""
    name, *deeper = path
    if not deeper:
        row.pop(name, None)
    elif isinstance(row.get(name), dict):
        _drop(row[name], deeper)
        if not row[name]:
            del row[name]


def _take(row: Json, path: Sequence[str]) -> Json:
    """Remove and return the dict at a path, {} when there is none."""
    holder: Any = row
    for folder in path[:-1]:
        holder = holder.get(folder) if isinstance(holder, dict) else None
    if not path or not isinstance(holder, dict) or not isinstance(holder.get(path[-1]), dict):
        return {}
    taken: Json = holder[path[-1]]
    _drop(row, path)
    return taken


def _setting(path: Sequence[str], value: Any) -> _Edit:
    return lambda row: _put(row, path, copy.deepcopy(value))


def _dropping(path: Sequence[str]) -> _Edit:
    return lambda row: _drop(row, path)


def _edited(row: Json, edits: Sequence[_Edit]) -> Json:
    edited = copy.deepcopy(row)
    for edit in edits:
        edit(edited)
    return edited


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON, where 1, 1.0 and true are three things."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
