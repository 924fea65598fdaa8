"""What other processes do to a store in the tests of several at once; started from a clean, warm process."""

import multiprocessing
import os
import traceback
from datetime import UTC, datetime

from rag_checks.records import Score, ScoreStatus, Verdict
from rag_checks.store import Store

# Forking a helper that has the imports done costs 0.05 s a process; a new interpreter costs a second.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["rag_checks.store", "psycopg"])
_JOIN_S = 60


def start(target, *args):
    """A running process with a pipe of lines it sends: (process, connection)."""
    ours, theirs = _context.Pipe()
    process = _context.Process(target=_run, args=(target, theirs, *args))
    process.start()
    theirs.close()
    return process, ours


def run_together(target, *argument_lists):
    """Run `target` once for each list of arguments, all at the same time; the results, in order.

    Raises AssertionError with the traceback of a process that failed.
    """
    running = [start(_wait_then, target, *arguments) for arguments in argument_lists]
    for _, connection in running:
        assert connection.recv() == "ready"
    for _, connection in running:
        connection.send("go")
    results = []
    for process, connection in running:
        kind, value = connection.recv()
        process.join(_JOIN_S)
        assert kind == "result", value
        results.append(value)
    return results


def _run(target, connection, *args):
    target(connection, *args)


def _wait_then(connection, target, *args):
    connection.send("ready")
    connection.recv()
    try:
        connection.send(("result", target(*args)))
    except BaseException:
        connection.send(("error", traceback.format_exc()))
        raise


def open_and_put(url, key):
    """Open a store that may be empty, and write into it."""
    with Store.open(url) as store:
        store.reply_cache().put(key, {"by": key})


def write_scores(url, run, metric, rounds):
    """Write the scores of all cases of a run, case by case, again and again."""
    with Store.open(url) as store:
        cases = store.cases(run)
        for number in range(rounds):
            for case in cases:
                score = Score(
                    eval_run_id=run,
                    case_id=case.case_id,
                    metric=metric,
                    metric_version="1",
                    value=number / rounds,
                    status=ScoreStatus.OK,
                )
                store.save_scores([score])
                store.reply_cache().put(f"{case.case_id}:{number}", {"metric": metric})


def plan_again(url, run, rounds):
    """Plan the cases a run already has, again and again."""
    with Store.open(url) as store:
        cases = [case.model_copy(update={"response": None}) for case in store.cases(run)]
        for _ in range(rounds):
            store.plan_cases(run, cases)


def answer_all(url, run, response):
    """Save a response to every case of a run."""
    with Store.open(url) as store:
        for case in store.cases(run):
            store.save_response(run, case.case_id, response)


def save_golden(url, name, item):
    """Save a golden set of one item; its version."""
    with Store.open(url) as store:
        return store.save_golden(name, [item], datetime.now(UTC)).version


def claim(url, message_ids, now):
    """The messages this process got."""
    with Store.open(url) as store:
        return [message_id for message_id in message_ids if store.outbox().claim(message_id, now)]


def flip_verdicts(connection, url, run, verdicts):
    """Replace a run's verdicts for ever: all of them ok, then all of them fail, then ok again."""
    with Store.open(url) as store:
        rounds = 0
        while True:
            level = ("ok", "fail")[rounds % 2]
            changed = [Verdict.model_validate({**dict(verdict), "level": level}) for verdict in verdicts]
            store.save_verdicts(run, changed)
            rounds += 1
            if rounds == 2:
                connection.send(os.getpid())
