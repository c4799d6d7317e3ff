"""Forget the published runs, train the published tier from scratch, and compare: every number, every verdict.

``python -m livingpaper.commands.reproduce [CHAPTER ...] [--store FOLDER] [--record]``, from the folder of the book.
``reproduction`` does it, and is imported only then: it takes seconds, and Ctrl-C meanwhile is to be a sentence, too.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from circuitcore.ground.errors import EXPECTED
from circuitcore.ground.interruption import ended_by_ctrl_c
from circuitcore.ground.progress import Watch
from livingpaper.book import studies

INTERRUPTION = "\nreproduce: interrupted. With --store {} it goes on from the last checkpoint."


def main(arguments: Sequence[str] | None = None) -> int:
    """Reproduce the chapters named (all, if none is); 0 when every verdict agrees, 1 otherwise."""
    named, says = "python -m livingpaper.commands.reproduce", __doc__.splitlines()[0]
    parser = argparse.ArgumentParser(prog=named, description=says)
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help=f"default: all of {', '.join(studies.names())}")
    stamp = time.strftime("%Y%m%d-%H%M%S")
    parser.add_argument("--store", type=Path, default=Path("build", f"reproduced-{stamp}"), help="a new folder, or an "
                        "interrupted reproduction's to go on with it (default: %(default)s)")  # fmt: skip
    parser.add_argument("--record", action="store_true", help="keep what came of it beside the published runs, for the "
                        "book's table of reproductions")  # fmt: skip
    options = parser.parse_args(arguments)
    with ended_by_ctrl_c(INTERRUPTION.format(options.store)):
        return _reproduced(options.chapters or studies.names(), options.store, record=options.record)


def _reproduced(chapters: Sequence[str], store: Path, *, record: bool) -> int:
    """Reproduce chapters, each into a folder of ``store``; the exit status."""
    from livingpaper.book.evidence import Folders
    from livingpaper.commands.publishing import keep
    from livingpaper.commands.reproduction import comparison_table, record_of, reproduce
    from livingpaper.commands.rerun import compared

    differing = 0
    for study in chapters:
        print(f"\n{study}: everything from scratch, into {store / study}", flush=True)
        start = time.perf_counter()
        try:
            made = reproduce(study, store / study, Watch(say=print))
        except EXPECTED as error:
            print(f"\n{study} was not reproduced.\n{error}", file=sys.stderr)
            return 1
        records = compared(made.verdicts)
        print(f"\n{comparison_table(records)}\n\n{made.page} ({(time.perf_counter() - start) / 60:.1f} min)")
        if record:
            print(keep(record_of(study, store / study, records), Folders.from_environment().published))
        differing += sum(side["same"] is False for side in records)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
