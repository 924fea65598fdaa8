"""What belongs to one event loop: connections, free slots, calls under way."""

import asyncio
from dataclasses import dataclass, field

from rag_checks.judge.replies import SingleFlight
from rag_checks.judge.slots import Slots
from rag_checks.judge.transport import Endpoint, Transport
from rag_checks.protocols import JudgeReply


@dataclass
class Session:
    """The judge in one event loop."""

    transport: Transport
    slots: Slots
    flights: SingleFlight[JudgeReply] = field(default_factory=SingleFlight)
    probing: SingleFlight[None] = field(default_factory=SingleFlight)

    async def close(self) -> None:
        """End calls under way and close all connections."""
        await self.flights.stop()
        await self.probing.stop()
        await self.transport.close()


class Sessions:
    """One session for each event loop in which a judge is used; opened when first needed."""

    def __init__(self, endpoint: Endpoint, *, concurrency: int) -> None:
        self._endpoint = endpoint
        self._concurrency = concurrency
        self._open: dict[asyncio.AbstractEventLoop, Session] = {}

    def current(self) -> Session:
        """The session of the running loop."""
        loop = asyncio.get_running_loop()
        session = self._open.get(loop)
        if session is None:
            # A loop that ended without closing the judge cannot close its connections any more; forgetting
            # them closes their sockets.
            self._open = {known: kept for known, kept in self._open.items() if not known.is_closed()}
            session = Session(Transport(self._endpoint), Slots(self._concurrency))
            self._open[loop] = session
        return session

    async def close(self) -> None:
        """Close the session of the running loop; a later call opens a new one."""
        session = self._open.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()
