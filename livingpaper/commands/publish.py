"""``python -m livingpaper.commands.publish STUDY|--seal``: ship finished runs with the book, and record verdicts.

``publishing`` does it, and is imported only then: it takes seconds, and Ctrl-C meanwhile is to be a sentence, too.
"""

import argparse
from collections.abc import Sequence
from functools import partial

from circuitcore.ground.contents import ContentsError
from circuitcore.ground.environment import Folders
from circuitcore.ground.interruption import ended_by_ctrl_c
from circuitcore.ground.present import check_present
from circuitcore.ground.progress import Watch
from livingpaper.book import studies

INTERRUPTION = "\npublish: interrupted. What is published is not whole now: run the same command again."


@ended_by_ctrl_c(INTERRUPTION)
def main(argv: Sequence[str] | None = None) -> None:
    """Command line of this module."""
    parser = argparse.ArgumentParser(prog="python -m livingpaper.commands.publish", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("study", nargs="?", choices=studies.names())
    what.add_argument("--seal", action="store_true", help="list what is in published now, whatever was listed before")
    options, folders = parser.parse_args(argv), Folders.from_environment()
    from livingpaper.commands.publishing import publish, reseal

    if options.seal:
        print("\n".join(reseal(folders.published)))
        return
    n_runs = publish(options.study, folders, Watch(say=partial(print, flush=True)))
    print(f"published {n_runs} runs of {options.study} and recorded its verdicts")
    try:
        check_present(folders.published)
    except ContentsError as error:  # such as runs of earlier parameters, deleted by hand
        print(error)


if __name__ == "__main__":
    main()
