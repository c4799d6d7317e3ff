"""Forget the published runs, train the published tier from scratch, and compare: every number, every verdict.

``python -m livingpaper.commands.reproduce [CHAPTER ...] [--store FOLDER] [--first N] [--record]``, from the folder of
the book.
``reproduction`` does it, and is imported only then: it takes seconds, and Ctrl-C meanwhile is to be a sentence, too.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from circuitcore.ground.errors import EXPECTED
from circuitcore.ground.interruption import ended_by_ctrl_c
from circuitcore.ground.progress import Watch
from livingpaper.book import studies
from livingpaper.commands import argument_types

INTERRUPTION = "\nreproduce: interrupted. With --store {} it goes on from the last checkpoint."


def main(arguments: Sequence[str] | None = None) -> int:
    """Reproduce the chapters named (all, if none is).

    Returns:
        0 when every verdict agrees, or, of first seeds, every run; 1 otherwise.
    """
    named, says = "python -m livingpaper.commands.reproduce", __doc__.splitlines()[0]
    parser = argparse.ArgumentParser(prog=named, description=says)
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help=f"default: all of {', '.join(studies.names())}")
    stamp = time.strftime("%Y%m%d-%H%M%S")
    parser.add_argument("--store", type=Path, default=Path("build", f"reproduced-{stamp}"), help="a new folder, or an "
                        "interrupted reproduction's to go on with it (default: %(default)s)")  # fmt: skip
    parser.add_argument("--first", type=argument_types.count, metavar="N", help="the first N seeds of every arm alone, "
                        "where the whole takes too long: compares runs, judges no claim")  # fmt: skip
    parser.add_argument("--record", action="store_true", help="keep what came of it beside the published runs, for the "
                        "book's table of reproductions")  # fmt: skip
    options = parser.parse_args(arguments)
    with ended_by_ctrl_c(INTERRUPTION.format(options.store)):
        return _reproduced(options.chapters or studies.names(), options.store, options.first, record=options.record)


def _reproduced(chapters: Sequence[str], store: Path, first: int | None, *, record: bool) -> int:
    """Reproduce chapters, each into a folder of ``store``; the exit status."""
    from livingpaper.book.evidence import Folders
    from livingpaper.commands.publishing import keep
    from livingpaper.commands.reproduction import record_of

    differing = 0
    for study in chapters:
        what = f"the first {first} seeds of every arm" if first else "everything"
        print(f"\n{study}: {what} from scratch, into {store / study}", flush=True)
        try:
            records = _compared(study, store / study, first)
            made = record_of(study, store / study, records)
            print(
                f"{made.equal} of {made.runs} runs, of {made.published} that are published, have the published hashes."
            )
            if record:
                print(keep(made, Folders.from_environment().published))
        except EXPECTED as error:
            print(f"\n{study} was not reproduced.\n{error}", file=sys.stderr)
            return 1
        differing += len(made.differing) if made.judged else made.runs - made.equal
    return 1 if differing else 0


def _compared(study: str, folder: Path, first: int | None) -> list[dict[str, Any]]:
    """Make a study again, wholly or its first seeds, and say what came of it; its claims' records."""
    from livingpaper.commands.reproduction import comparison_table, reproduce, reproduce_first
    from livingpaper.commands.rerun import compared

    start = time.perf_counter()
    if first:
        reproduce_first(study, folder, first, Watch(say=print))
        return []
    made = reproduce(study, folder, Watch(say=print))
    records = compared(made.verdicts)
    print(f"\n{comparison_table(records)}\n\n{made.page} ({(time.perf_counter() - start) / 60:.1f} min)")
    return records


if __name__ == "__main__":
    sys.exit(main())
