"""Asking a whole series of questions, several at once: what is missing, until it is there or somebody is needed."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from itertools import islice

from circuitcore.ground.errors import UserError
from circuitcore.ground.progress import Watch
from livingpaper.asking.questions import Asked, Model, Question, Refused, Unanswered, ask
from livingpaper.asking.record import Record

GIVE_UP = 3  # questions in a row without a reply, after all their retries: the server is down, not busy


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How hard to try.

    Attributes:
        tries: of a question until a reply is acceptable.
        at_once: questions under way at the same time.
    """

    tries: int = 10
    at_once: int = 4

    def __post_init__(self):
        if self.tries < 1 or self.at_once < 1:
            raise UserError(f"tries = {self.tries}, at once = {self.at_once}; allowed: at least 1 each")


def ask_missing(questions: Sequence[Question], model: Model, record: Record, effort: Effort, watch: Watch) -> str:
    """Ask whatever is not in the record yet. Every answer is on disk as soon as it is there.

    Args:
        questions: the series.
        model: gives replies; called from several threads if ``effort.at_once`` is above 1.
        record: where answers are, and go to.
        effort: how often, and how many at once.
        watch: shows a bar.

    Returns:
        A sentence about questions that got no reply and are left for the next time; empty where there are none.

    Raises:
        Refused: the model will answer nothing until somebody mends something. What it did answer is in the record.
    """
    missing = [question for question in questions if question.name not in record.asked]
    pool = ThreadPoolExecutor(effort.at_once)
    try:
        with watch.bar(total=len(questions), initial=len(questions) - len(missing), desc="questions") as bar:
            work = (partial(pool.submit, ask, question, model, effort.tries) for question in missing)
            reason = _written_down(work, effort.at_once, record, bar.update)
    finally:  # whoever interrupts does not wait for requests under way
        pool.shutdown(wait=False, cancel_futures=True)
    left = sum(question.name not in record.asked for question in missing)
    if not left:
        return ""
    return f"{left} of {len(questions)} questions got no reply: {reason}. The same command asks these again."


def _written_down(
    work: Iterator[Callable[[], Future[Asked]]], at_once: int, record: Record, update: Callable[[int], object]
) -> str:
    """Begin work, so much at once, and record what comes of it; if it is of no use any more, end what is under way.

    Returns:
        The last reason why a question got no reply.
    """
    in_a_row, reason, refused, pending = 0, "", None, set()
    while True:
        if not refused and in_a_row < GIVE_UP:
            pending |= {begin() for begin in islice(work, at_once - len(pending))}
        if not pending:
            break
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            try:
                record.add(future.result())
            except Unanswered as error:
                in_a_row, reason = in_a_row + 1, str(error)
            except Refused as error:
                refused = refused or error
            else:
                in_a_row = 0
                update(1)
    if refused:
        raise refused
    return reason
