"""Asking the bot the golden questions as they were written, and keeping only what is masked (P7)."""

from pathlib import Path

from rag_checks.bots import open_bot
from rag_checks.errors import BotError, SourceError
from rag_checks.intake.redact import Redactor, has_placeholder
from rag_checks.monitor import Monitor
from rag_checks.pipeline.items import read_items
from rag_checks.protocols import Bot
from rag_checks.records import EvalItem, Response


def open_masked_bot(monitor: Monitor) -> Bot | None:
    """The monitor's bot, asked original questions, with masked answers; None when it has none."""
    if monitor.bot is None:
        return None
    path = monitor.golden.path and monitor.directory / monitor.golden.path
    return MaskedBot(open_bot(monitor.bot, monitor.directory), path or None)


class MaskedBot:
    """A bot that is asked an item's original and whose answers, and errors, come back masked.

    The original is only ever in the golden file and in this process: an item in the store is masked. Without
    a golden file the item as stored is all there is, and is what the bot is asked.
    """

    def __init__(self, bot: Bot, golden_file: Path | None) -> None:
        self._bot = bot
        self._golden_file = golden_file
        self._originals: dict[str, EvalItem] | None = None
        self._redactor = Redactor()

    async def ask(self, item: EvalItem) -> Response:
        """Ask the item's original; the answer is numbered as the masked item is. Raises BotError, masked."""
        original = self._original(item)
        try:
            response = await self._bot.ask(original)
        except BotError as error:
            told = Response(response=None, error=str(error))
            _, masked, _ = self._redactor.mask_case(original, told)
            raise BotError(masked.error or "", kind=error.kind) from None
        return self._redactor.mask_case(original, response)[1]

    async def close(self) -> None:
        """Free connections."""
        await self._bot.close()

    def _original(self, item: EvalItem) -> EvalItem:
        if self._golden_file is None or not has_placeholder(item):
            return item
        if self._originals is None:
            try:
                self._originals = {one.item_id: one for one in read_items(self._golden_file)}
            except SourceError as error:
                raise BotError(f"not asked: {error}", kind="golden_changed") from error
        original = self._originals.get(item.item_id)
        if original is None or self._redactor.mask_item(original)[0].revision != item.revision:
            raise BotError(
                f"not asked: {self._golden_file.name} changed since the night was planned; plan it again",
                kind="golden_changed",
            )
        return original
