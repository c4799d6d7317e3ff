"""``python -m livingpaper.commands.publish STUDY|--seal``: ship finished runs with the book, and record verdicts.

``publishing`` does it, and is imported only then: it takes seconds, and Ctrl-C meanwhile is to be a sentence, too.
"""

import argparse
from collections.abc import Sequence
from functools import partial

from circuitcore.ground.contents import ContentsError
from circuitcore.ground.environment import Folders
from circuitcore.ground.errors import EXPECTED
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
    known = f"one of: {', '.join(studies.names())}; or an import path"
    what.add_argument("study", metavar="STUDY", nargs="?", help=known)
    what.add_argument("--seal", action="store_true", help="list what is in published now, whatever was listed before")
    options = parser.parse_args(argv)
    try:
        _run(None if options.seal else options.study, Folders.from_environment())
    except EXPECTED as error:
        raise SystemExit(f"publish: {error}") from error


def _run(study: str | None, folders: Folders) -> None:
    """Publish a study; None: list what is published."""
    if study is not None:
        studies.load(study)  # a misspelt one before what takes seconds to import
    from livingpaper.commands.publishing import publish, reseal

    if study is None:
        print("\n".join(reseal(folders.published)))
        return
    n_runs = publish(study, folders, Watch(say=partial(print, flush=True)))
    print(f"published {n_runs} runs of {study} and recorded its verdicts")
    try:
        check_present(folders.published)
    except ContentsError as error:  # such as runs of earlier parameters, deleted by hand
        print(error)


if __name__ == "__main__":
    main()
