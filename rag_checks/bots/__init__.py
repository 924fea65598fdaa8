"""How to ask a bot: HTTP, OpenAI-compatible chat, Python callable."""
