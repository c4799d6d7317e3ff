"""Forget the published runs, train the published tier from scratch, and compare: every number, every verdict.

``python -m livingpaper.commands.reproduce [CHAPTER ...] [--store FOLDER] [--first N | --minutes N]
[--record]``, from the folder of the book.
``reproduction`` does it, and is imported only then: it takes seconds, and Ctrl-C meanwhile is to be a sentence, too.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from circuitcore.ground.errors import EXPECTED
from circuitcore.ground.interruption import ended_by_ctrl_c
from circuitcore.ground.progress import Watch
from livingpaper.book import studies
from livingpaper.commands import argument_types

if TYPE_CHECKING:
    from livingpaper.book.reproductions import Reproduction

INTERRUPTION = "\nreproduce: interrupted. With --store {} it goes on from the last checkpoint."


def main(arguments: Sequence[str] | None = None) -> int:
    """Reproduce the chapters named (all, if none is).

    Returns:
        0 when every verdict agrees, or, of a part, every run; 1 otherwise.
    """
    options = _parser().parse_args(arguments)
    with ended_by_ctrl_c(INTERRUPTION.format(options.store)):
        return _reproduced(options.chapters or studies.names(), options)


def _parser() -> argparse.ArgumentParser:
    named, says = "python -m livingpaper.commands.reproduce", __doc__.splitlines()[0]
    parser = argparse.ArgumentParser(prog=named, description=says)
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help=f"default: all of {', '.join(studies.names())}")
    new = Path("build", time.strftime("reproduced-%Y%m%d-%H%M%S"))
    parser.add_argument("--store", type=argument_types.folder, default=new, help="a new folder, or an interrupted "
                        "reproduction's to go on with it (default: %(default)s)")  # fmt: skip
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--first", type=argument_types.count, metavar="N", help="the first N seeds of every arm alone, "
                      "where the whole takes too long: compares runs, judges no claim")  # fmt: skip
    part.add_argument("--minutes", type=argument_types.count, metavar="N", help="as many runs of each chapter as are "
                      "made again in N minutes; with --record those that are not on record yet")  # fmt: skip
    parser.add_argument("--record", action="store_true", help="keep what came of it beside the published runs, for the "
                        "book's table of reproductions")  # fmt: skip
    return parser


def _reproduced(chapters: Sequence[str], options: argparse.Namespace) -> int:
    """Reproduce chapters, each into a folder of the store; the exit status."""
    from livingpaper.book.evidence import Folders
    from livingpaper.commands.publishing import keep, kept_record, require_replaceable

    try:
        for study in chapters:  # a misspelt one before hours go into those before it
            studies.load(study)
    except EXPECTED as error:
        print(error, file=sys.stderr)
        return 1
    differing, published, is_part = 0, Folders.from_environment().published, bool(options.first or options.minutes)
    for study in chapters:
        print(f"\n{study}: {_what(options)} from scratch, into {options.store / study}", flush=True)
        try:
            before = kept_record(study.rpartition(".")[2], published) if options.record else None
            if is_part and before and before.judged and not options.chapters:
                print("It is on record as a whole already.")
                continue
            if is_part:
                require_replaceable(before, in_parts=bool(options.minutes))
            made = _made(study, options, before)
            of_all = f"of {made.published} that are published"
            print(f"{made.equal} of {made.runs} runs, {of_all}, are the published ones.")
            if options.record:
                print(keep(made, published))
        except (*EXPECTED, OSError) as error:
            print(f"\n{study} was not reproduced.\n{error}", file=sys.stderr)
            return 1
        differing += len(made.differing) if made.judged else made.runs - made.equal
    return 1 if differing else 0


def _done(before: "Reproduction | None") -> set[str]:
    """Names of runs on record that need not be made again; one that came out otherwise may be, elsewhere."""
    return {run_id for run_id, one in before.parts.items() if one.equal} if before else set()


def _what(options: argparse.Namespace) -> str:
    if options.first:
        return f"the first {options.first} seeds of every arm"
    return f"what fits into {options.minutes} minutes" if options.minutes else "everything"


def _made(study: str, options: argparse.Namespace, before: "Reproduction | None") -> "Reproduction":
    """Make a study again, wholly or a part, and say what came of it; its record, with what was recorded ``before``."""
    from livingpaper.commands import reproduction, reproduction_in_parts
    from livingpaper.commands.rerun import compared

    start, folder, watch = time.perf_counter(), options.store / study, Watch(say=print)
    if options.minutes:
        reproduction_in_parts.reproduce_for(study, folder, options.minutes, _done(before), watch)
        return reproduction_in_parts.record_in_parts(study, folder, before)
    if options.first:
        reproduction_in_parts.reproduce_first(study, folder, options.first, watch)
        return reproduction.record_of(study, folder, [])
    made = reproduction.reproduce(study, folder, watch)
    records, minutes = compared(made.verdicts), (time.perf_counter() - start) / 60
    print(f"\n{reproduction.comparison_table(records)}\n\n{made.page} ({minutes:.1f} min)")
    return reproduction.record_of(study, folder, records)


if __name__ == "__main__":
    sys.exit(main())
