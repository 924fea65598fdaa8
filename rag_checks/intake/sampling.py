"""Which turns are picked: a keyed hash decides, so order, shards, reruns and late rows hardly matter (P8).

A turn's number u is the first 64 bits of SHA-256 over seed, a separator and turn id: uniform, fixed, and the
same in every stratum. Each stratum takes its turns of smallest u (bottom-k sampling, a simple random sample
without replacement of the stratum), and a turn weighs N_h / n_h there (the Horvitz-Thompson weight: sums and
means weighted with it estimate those of all turns). Two of a million turns share a u with probability 3e-8
(n² / 2⁶⁵); they would count as one turn.
"""

import hashlib
import heapq
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from rag_checks.monitor import Sample

BAD_CASE = "bad_case"
_PAST_ALL = 1 << 64

T = TypeVar("T")
P = TypeVar("P")


def key_of(seed: str) -> bytes:
    """What `number_of` wants of a seed."""
    return seed.encode("utf-8") + b"\x1f"


def numbers_of(key: bytes, turn_ids: Sequence[str]) -> list[int]:
    """`number_of` each."""
    sha256 = hashlib.sha256
    digests = [sha256(key + turn_id.encode("utf-8")).digest() for turn_id in turn_ids]
    return [number for (number,) in struct.iter_unpack(">Q24x", b"".join(digests))]


def number_of(key: bytes, turn_id: str) -> int:
    """U of a turn, 0 ≤ u < 2⁶⁴."""
    return numbers_of(key, [turn_id])[0]


def quotas(sizes: Mapping[str, int], sample: Sample) -> dict[str, int]:
    """How many turns each stratum gives.

    `bad_cases` of the bad cases; `floor_per_intent` of each intent, one each in turn from the largest when
    they do not all fit; the rest in proportion to what is left in each intent, by largest remainder; what is
    still free then goes to bad cases. Never more than a stratum has; in all min(`size`, all turns).

    Args:
        sizes: turns per stratum.
        sample: the monitor's sample section.
    """
    given = dict.fromkeys(sizes, 0)
    if BAD_CASE in sizes:
        given[BAD_CASE] = min(sample.bad_cases, sizes[BAD_CASE], sample.size)
    free = sample.size - sum(given.values())
    intents = sorted((s for s in sizes if s != BAD_CASE), key=lambda s: (-sizes[s], s))
    for level in range(1, sample.floor_per_intent + 1):
        for stratum in intents:
            if free and sizes[stratum] >= level:
                given[stratum] += 1
                free -= 1
    left = {stratum: sizes[stratum] - given[stratum] for stratum in intents}
    for stratum, share in _proportional(left, free).items():
        given[stratum] += share
    if BAD_CASE in sizes:
        free = sample.size - sum(given.values())
        given[BAD_CASE] += min(free, sizes[BAD_CASE] - given[BAD_CASE])
    return given


def _proportional(left: Mapping[str, int], free: int) -> dict[str, int]:
    """Shares of `free`, or of all there is when that is less; a share never exceeds what is left."""
    total = sum(left.values())
    if free >= total:
        return dict(left)
    shares = {stratum: free * count // total for stratum, count in left.items()}
    by_remainder = sorted(left, key=lambda s: (-(free * left[s] % total), s))
    for stratum in by_remainder[: free - sum(shares.values())]:
        shares[stratum] += 1
    return shares


class Pick(NamedTuple, Generic[P]):
    """A turn picked from a stratum."""

    stratum: str
    weight: float
    payload: P


@dataclass(frozen=True)
class Draw(Generic[P]):
    """A sample: the turns, and (N, n) of each stratum with turns."""

    picks: list[Pick[P]]
    strata: dict[str, tuple[int, int]]


class _Stratum(Generic[P]):
    """All turns with u below `limit`, and how many there are of any u."""

    def __init__(self) -> None:
        self.size = 0
        self.limit = _PAST_ALL
        self.kept: dict[int, P] = {}
        self.heap: list[int] = []  # -u of what is kept, largest u first

    def keep(self, number: int, payload: P, capacity: int) -> None:
        if number not in self.kept:
            heapq.heappush(self.heap, -number)
        self.kept[number] = payload
        self.trim(capacity)

    def trim(self, capacity: int) -> None:
        while len(self.kept) > capacity:
            self.limit = -heapq.heappop(self.heap)
            del self.kept[self.limit]

    def absorb(self, other: "_Stratum[P]", capacity: int) -> None:
        self.size += other.size
        self.limit = min(self.limit, other.limit)
        both = self.kept | other.kept
        self.kept = {number: payload for number, payload in both.items() if number < self.limit}
        self.heap = [-number for number in self.kept]
        heapq.heapify(self.heap)
        self.trim(capacity)


class BottomK(Generic[T, P]):
    """The turns of smallest u of each stratum, built in one pass, in any order, in parts that can be merged.

    Every stratum knows all its turns below a limit of u; the limit falls when more than `capacity` are known.
    That makes taking a turn out exact as well: what was dropped before had a larger u than all that is known.

    Args:
        capacity: turns kept per stratum; at least the size of the sample for a sample that is always exact as
            long as nothing is taken out.
        pack: makes of an added turn what is kept of it; only called for those that are kept.
    """

    def __init__(self, capacity: int, pack: Callable[[T], P]) -> None:
        self.capacity = capacity
        self._pack = pack
        self._strata: dict[str, _Stratum[P]] = {}

    def add(self, stratum: str, number: int, turn: T) -> None:
        """Count a turn that is not there yet, and keep it if its u is small enough."""
        self.count(stratum, 1)
        if number < self.limit(stratum):
            self.offer(stratum, number, turn)

    def count(self, stratum: str, turns: int) -> None:
        """Count turns; those with u below the stratum's limit must be offered as well."""
        if stratum not in self._strata:
            self._strata[stratum] = _Stratum()
        self._strata[stratum].size += turns

    def limit(self, stratum: str) -> int:
        """The u from which on the stratum keeps no turns."""
        part = self._strata.get(stratum)
        return _PAST_ALL if part is None else part.limit

    def offer(self, stratum: str, number: int, turn: T) -> None:
        """Keep a turn that is counted, if its u is small enough."""
        part = self._strata[stratum]
        if number < part.limit:
            part.keep(number, self._pack(turn), self.capacity)

    def remove(self, stratum: str, number: int) -> None:
        """Take a turn out that was added."""
        part = self._strata[stratum]
        part.size -= 1
        if part.kept.pop(number, None) is not None:
            part.heap.remove(-number)
            heapq.heapify(part.heap)

    def merge(self, other: "BottomK[T, P]") -> "BottomK[T, P]":
        """The structure of both parts' turns together; the parts must not share turns."""
        merged: BottomK[T, P] = BottomK(min(self.capacity, other.capacity), self._pack)
        for part in (self, other):
            for name, stratum in part._strata.items():  # noqa: SLF001 - its own class
                merged._strata.setdefault(name, _Stratum()).absorb(stratum, merged.capacity)
        return merged

    def unite(self, name: str, *, keep: frozenset[str]) -> None:
        """Make one stratum of all but those to keep."""
        united: _Stratum[P] = _Stratum()
        for stratum in [s for s in self._strata if s not in keep]:
            united.absorb(self._strata.pop(stratum), self.capacity)
        self._strata[name] = united

    def sizes(self) -> dict[str, int]:
        """Turns counted per stratum, by name; empty ones left out."""
        return {name: self._strata[name].size for name in sorted(self._strata) if self._strata[name].size}

    def draw(self, sample: Sample) -> Draw[P] | None:
        """The sample, strata by name and turns by u; None when too much was taken out to be exact.

        Then a structure of larger capacity has to see the turns again.
        """
        sizes = self.sizes()
        given = quotas(sizes, sample)
        picks: list[Pick[P]] = []
        for stratum, count in given.items():
            kept = self._strata[stratum].kept
            if count > len(kept):
                return None
            picks += [Pick(stratum, sizes[stratum] / count, kept[u]) for u in sorted(kept)[:count]]
        return Draw(picks, {stratum: (sizes[stratum], count) for stratum, count in given.items()})
