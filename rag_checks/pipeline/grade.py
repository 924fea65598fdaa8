"""Grading a planned night, shard by shard, and reconciling what was planned with what was graded."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from rag_checks.errors import MissingSecret, PermanentError, TransientError
from rag_checks.evaluation import Outcome, cases_at_once, evaluate, fitting, not_graded
from rag_checks.intake.redact import placeholders
from rag_checks.judge import open_judge
from rag_checks.judge.spending import Spending
from rag_checks.metrics import Metric
from rag_checks.metrics.catalogue import wanted as wanted_metrics
from rag_checks.monitor import Monitor, OpenAIJudge
from rag_checks.monitor_files import located
from rag_checks.pipeline.masked import open_masked_bot
from rag_checks.pipeline.problems import grading_problem, input_problem, joined
from rag_checks.pipeline.runs import main_release, stored_run
from rag_checks.records import Case, EvalRun, JudgeIdentity, Score, ScoreStatus, Usage
from rag_checks.settings import Settings
from rag_checks.store import Store


def evaluate_shard(
    monitor: Monitor,
    settings: Settings,
    eval_run_id: str,
    shard: int | None = None,
    *,
    use_cache: bool = True,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Outcome:
    """Grade one shard of a planned run (None: all); what is graded already is left alone.

    Without the cache every judgement is asked for anew, and none is kept.

    Raises JudgeFatal, JudgeUnavailable or StoreUnavailable after keeping all that was done.
    """
    with Store.open(settings.store_url) as store:
        try:
            return asyncio.run(_evaluate(monitor, store, eval_run_id, shard, use_cache, progress))
        except (PermanentError, TransientError) as error:
            told = located(error, monitor) if isinstance(error, MissingSecret) else error
            run = stored_run(store, eval_run_id)
            store.save_run(run.model_copy(update={"problem": str(told)}))
            raise told from error


async def _evaluate(
    monitor: Monitor,
    store: Store,
    eval_run_id: str,
    shard: int | None,
    use_cache: bool,
    progress: Callable[[int, int], None],
) -> Outcome:
    cases = store.cases(eval_run_id, shard=shard)
    scores = store.scores(eval_run_id)
    judge = open_judge(
        monitor.judge,
        directory=monitor.directory,
        cache=store.reply_cache() if use_cache else None,
        spending=_spending(monitor, cases, scores, planned=len(store.cases(eval_run_id))),
    )
    bot = open_masked_bot(monitor)
    wanted = wanted_metrics(monitor)
    try:
        outcome = await evaluate(
            eval_run_id,
            cases,
            metrics=wanted,
            judge=judge,
            bot=bot,
            sink=store,
            scored=_finished(scores, wanted, judge.identity),
            concurrency=cases_at_once(monitor.judge.concurrency)
            if isinstance(monitor.judge, OpenAIJudge)
            else 8,
            deadline_s=monitor.run_deadline_minutes * 60,
            occasion=stored_run(store, eval_run_id).night.toordinal(),
            progress=progress,
        )
    finally:
        await judge.close()
        if bot is not None:
            await bot.close()
    if outcome.error is not None:
        raise outcome.error
    return outcome


def _spending(
    monitor: Monitor, cases: Sequence[Case], scores: Sequence[Score], *, planned: int
) -> Spending | None:
    """The budget of these cases: the run's, by their share of all planned ones, less what they have cost."""
    if monitor.budget is None or not isinstance(monitor.judge, OpenAIJudge):
        return None
    ours = {case.case_id for case in cases}
    before = sum((score.usage for score in scores if score.case_id in ours), start=Usage())
    price = monitor.prices.get(monitor.judge.model)
    share = len(cases) / max(1, planned)
    return Spending(monitor.budget, price, before=before, share=share, language=monitor.language)


def reconcile(monitor: Monitor, settings: Settings, eval_run_id: str) -> EvalRun:
    """Compare what was planned with what was graded; record what is missing as missing (P1).

    A case that no shard reached gets a `judge_error` score for each metric, so that it stays in every count.
    The run's `problem` says what keeps its numbers from being whole; an outage that a retry got over is none.
    """
    with Store.open(settings.store_url) as store:
        run = stored_run(store, eval_run_id)
        cases = store.cases(eval_run_id)
        scores = store.scores(eval_run_id)
        have = {(score.case_id, score.metric) for score in scores}
        wanted = wanted_metrics(monitor)
        missing = [
            not_graded(eval_run_id, case, metric, run.problem)
            for case in cases
            for metric in fitting(wanted, case)
            if (case.case_id, metric.name) not in have
        ]
        store.save_scores(missing)
        canaries = {case.case_id for case in cases if case.source == "canary"}
        scores, lost = ([s for s in some if s.case_id not in canaries] for some in (scores, missing))
        cases = [case for case in cases if case.case_id not in canaries]
        ok = sum(score.status is ScoreStatus.OK for score in scores)
        masked: Counter[str] = Counter()
        for case in cases:
            masked.update(placeholders(case.model_dump_json(include={"item", "response"})))
        counts = {
            **run.counts,
            **{f"masked_{kind}": count for kind, count in masked.items()},
            "planned": len(cases),
            "ungraded": len({score.case_id for score in lost}),
            "scores_ok": ok,
            "scores_failed": sum(_failed(score) for score in [*scores, *lost]),
        }
        problems = [
            grading_problem(monitor.language, run, cases, scores, lost),
            input_problem(monitor, run, store),
        ]
        run = run.model_copy(
            update={
                "counts": counts,
                "judge": _main_judge(scores),
                "release": main_release(cases) or run.release,
                "status": "evaluated",
                "problem": joined(monitor.language, problems),
            }
        )
        store.save_run(run)
        return run


def _finished(scores: Sequence[Score], wanted: Sequence[Metric], judge: JudgeIdentity) -> dict[str, set[str]]:
    """case_id → metrics whose stored score stands: same metric version, same judge, not a failure."""
    versions = {metric.name: metric.version for metric in wanted}
    finished: dict[str, set[str]] = {}
    for score in scores:
        same_judge = score.judge is None or _asked_alike(score.judge, judge)
        if not _failed(score) and same_judge and versions.get(score.metric) == score.metric_version:
            finished.setdefault(score.case_id, set()).add(score.metric)
    return finished


def _asked_alike(one: JudgeIdentity, other: JudgeIdentity) -> bool:
    """Whether two judges were asked for in the same way; what the endpoint returned is known only later."""
    unknown_before_asking = {"returned_model", "system_fingerprint"}
    return one.model_dump(exclude=unknown_before_asking) == other.model_dump(exclude=unknown_before_asking)


def _failed(score: Score) -> bool:
    return score.status not in {ScoreStatus.OK, ScoreStatus.NOT_APPLICABLE}


def _main_judge(scores: Sequence[Score]) -> JudgeIdentity | None:
    """The judge of most scores."""
    found = {score.judge.fingerprint: score.judge for score in scores if score.judge is not None}
    counts = Counter(score.judge.fingerprint for score in scores if score.judge is not None)
    return found[counts.most_common(1)[0][0]] if counts else None
