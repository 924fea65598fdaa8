"""How to ask a bot: HTTP, OpenAI-compatible chat, Python callable."""

from pathlib import Path

from rag_checks.monitor import HttpBot, OpenAIBot, PythonBot
from rag_checks.protocols import Bot


def open_bot(config: HttpBot | OpenAIBot | PythonBot, directory: Path) -> Bot:
    """The bot a monitor describes, ready to be asked; close it when done.

    Args:
        config: the monitor's `bot` section.
        directory: the monitor's folder, where a Python callable is looked for first.

    Raises:
        MissingSecret: an environment variable it needs is not set.
        ConfigError: a setting cannot work; the message names it.
    """
    # Each adapter brings a library that takes long to import: only the one in use is loaded.
    if isinstance(config, HttpBot):
        from rag_checks.bots.http import HttpAdapter  # noqa: PLC0415 - see above

        return HttpAdapter(config)
    if isinstance(config, OpenAIBot):
        from rag_checks.bots.openai_chat import ChatAdapter  # noqa: PLC0415 - see above

        return ChatAdapter(config)
    from rag_checks.bots.python_callable import PythonAdapter  # noqa: PLC0415 - see above

    return PythonAdapter(config, directory)
