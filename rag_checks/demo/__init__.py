"""The built-in bot, its handbook and its logs."""
