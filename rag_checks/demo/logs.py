"""Conversation logs of the demo bot: the deployed release really answers sampled questions, day by day.

Simulated are the people (who asks what and when, thumbs and comments) and `latency_ms`; the answers,
passages, intents and queries are the bot's own. Everything follows from the seed, byte for byte.
"""

import random
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from rag_checks.demo.answering import is_refusal
from rag_checks.demo.bot import HelpBot
from rag_checks.demo.chunking import RELEASE_1, RELEASE_2
from rag_checks.demo.questions import Question, conversation, facts, is_right
from rag_checks.records import Feedback, Message, Turn

ZONE = ZoneInfo("Asia/Shanghai")
_SATURDAY = 5
_CHANNELS = {"channel:im": 6, "channel:web": 3, "channel:mobile": 1}
# Chance of a thumb up and a thumb down, by whether the answer is right; people also press the wrong one.
_THUMBS = {True: (0.20, 0.015), False: (0.03, 0.38)}
_COMMENT_SHARE = {"like": 0.25, "dislike": 0.5}


def write_logs(
    directory: Path,
    *,
    seed: str,
    first_night: date,
    nights: int,
    deploy_night: date | None,
    per_night: tuple[int, int] = (60, 90),
) -> list[Path]:
    """Write one JSONL file a day (`2026-10-05.jsonl`), a turn a line with the fields of `records.Turn`.

    Args:
        directory: Made when it is not there; files of the same days are replaced.
        seed: Same seed, same bytes.
        first_night: The first local day (Asia/Shanghai).
        nights: How many days.
        deploy_night: From this day on release 2 answers; None: release 1 throughout.
        per_night: Fewest and most turns a day; week-ends stay in the lower third.

    Returns:
        The files, oldest first.
    """
    directory.mkdir(parents=True, exist_ok=True)
    bots = {release: HelpBot(release) for release in (RELEASE_1, RELEASE_2)}
    written = []
    for day in (first_night + timedelta(days=number) for number in range(nights)):
        release = RELEASE_2 if deploy_night is not None and day >= deploy_night else RELEASE_1
        turns = _day(random.Random(f"{seed}:{day}"), day, bots[release], per_night)
        path = directory / f"{day}.jsonl"
        lines = (turn.model_dump_json(exclude_none=True) + "\n" for turn in turns)
        path.write_text("".join(lines), encoding="utf-8", newline="\n")
        written.append(path)
    return written


def _day(rng: random.Random, day: date, bot: HelpBot, per_night: tuple[int, int]) -> list[Turn]:
    fewest, most = per_night
    if day.weekday() >= _SATURDAY:
        most = fewest + (most - fewest) // 3
    wanted = rng.randint(fewest, most)
    turns: list[Turn] = []
    number = 0
    while len(turns) < wanted:
        number += 1
        questions = conversation(rng)[: wanted - len(turns)]
        turns += _converse(rng, f"{day:%Y%m%d}-{number:03d}", _start(rng, day), bot, questions)
    return sorted(turns, key=lambda turn: (turn.asked_at, turn.turn_id))


def _converse(
    rng: random.Random, name: str, start: datetime, bot: HelpBot, questions: list[Question]
) -> list[Turn]:
    history: list[Message] = []
    turns = []
    channel = rng.choices(list(_CHANNELS), list(_CHANNELS.values()))[0]
    asked_at = start
    for position, question in enumerate(questions, start=1):
        answered = bot.answer(question.text, history)
        turns.append(
            Turn(
                turn_id=f"{name}-{position}",
                conversation_id=name,
                asked_at=asked_at,
                user_input=question.text,
                response=answered["answer"],
                retrieved_contexts=tuple(answered["contexts"]),
                retrieved_context_ids=tuple(answered["context_ids"]),
                history=tuple(history),
                intent=answered["intent"],
                rewritten_query=answered["rewritten_query"],
                feedback=_feedback(rng, question, answered["answer"]),
                release=answered["release"],
                # A measured latency would differ from run to run: this one is drawn, median 0.7 s.
                latency_ms=round(rng.lognormvariate(6.55, 0.35), 1),
                tags=(channel,),
            )
        )
        history += [
            Message(role="user", content=question.text),
            Message(role="assistant", content=answered["answer"]),
        ]
        asked_at += timedelta(seconds=rng.randint(15, 180))
    return turns


def _start(rng: random.Random, day: date) -> datetime:
    """A moment of the local day: mostly office hours with peaks before and after lunch, few at night."""
    when = rng.random()
    if when < 0.03:  # noqa: PLR2004 - after midnight
        minute = rng.uniform(5, 100)
    elif when < 0.09:  # noqa: PLR2004 - in the evening
        minute = rng.uniform(19 * 60, 23.5 * 60)
    elif when < 0.55:  # noqa: PLR2004 - morning
        minute = rng.triangular(8.5 * 60, 12.5 * 60, 10 * 60)
    else:
        minute = rng.triangular(13 * 60, 19 * 60, 15 * 60)
    return datetime.combine(day, time(), tzinfo=ZONE) + timedelta(seconds=round(minute * 60))


def _feedback(rng: random.Random, question: Question, answer: str) -> Feedback | None:
    if question.kind == "small_talk":
        return None
    right = is_right(question, answer)
    like, dislike = _THUMBS[right]
    drawn = rng.random()
    if drawn >= like + dislike:
        return None
    rating = "like" if drawn < like else "dislike"
    comment = None
    if rng.random() < _COMMENT_SHARE[rating]:
        comment = rng.choice(_comments(rating, right, answer)[question.language])
    return Feedback(rating="like" if rating == "like" else "dislike", comment=comment)


def _comments(rating: str, right: bool, answer: str) -> dict[str, Any]:
    comments: dict[str, dict[str, Any]] = facts()["comments"]
    if rating == "like":
        return comments["like"]
    if right:
        return comments["dislike_right"]
    return comments["dislike_refused" if is_refusal(answer) else "dislike_wrong"]
