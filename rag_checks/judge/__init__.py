"""Who grades: the OpenAI-compatible client, the offline judge, prompts."""
