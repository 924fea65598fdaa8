"""The names that fields of a turn go by."""

# Field -> its names, best first: of two that have a value, the first counts. `rating` and `comment` are
# feedback written flat.
ALIASES: dict[str, tuple[str, ...]] = {
    "turn_id": ("turn_id", "message_id", "id"),
    "conversation_id": ("conversation_id", "session_id"),
    "asked_at": ("asked_at", "timestamp", "created_at", "time"),
    "user_input": ("user_input", "question", "query", "input"),
    "response": ("response", "answer", "actual_output", "output"),
    "retrieved_contexts": ("retrieved_contexts", "contexts", "retrieval_context"),
    "retrieved_context_ids": ("retrieved_context_ids", "context_ids"),
    "history": ("history",),
    "intent": ("intent",),
    "rewritten_query": ("rewritten_query",),
    "tool_calls": ("tool_calls",),
    "feedback": ("feedback",),
    "rating": ("rating",),
    "comment": ("comment",),
    "release": ("release",),
    "latency_ms": ("latency_ms",),
    "tags": ("tags",),
    "error": ("error",),
}
KNOWN_NAMES = frozenset(name for names in ALIASES.values() for name in names)
