"""Telling people: messages, the outbox, Slack."""
