"""Execute the chapters with one tier's parameters, then build the book.

``python -m livingpaper.book.build [--tier published|smoke] [--out _build]``, from the folder that holds
``_config.yml``. Papermill runs each notebook of ``book/`` and ``book/appendix/`` into
``build/executed/TIER/``; a Sphinx hook (``livingpaper.book.sphinx_ext``) shows those outputs under the source's prose.
A notebook runs again only when something it computes from has changed, so an edited sentence costs a page, not an
execution.
"""

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from functools import partial
from itertools import groupby
from pathlib import Path
from threading import Event

from circuitcore.ground.contents import ContentsError
from circuitcore.ground.durations import Durations
from circuitcore.ground.environment import n_cores
from circuitcore.ground.interruption import ended_by_ctrl_c
from circuitcore.ground.present import check_present
from circuitcore.ground.progress import Stages, Watch, write_line
from circuitcore.training.errors import StoreError
from livingpaper.book.notebooks import (
    APPENDIX,
    EXECUTED_IN,
    TIERS,
    BookError,
    Job,
    hash_files,
    hash_inputs,
    kernel_environment,
    read_parameters,
    run_notebook,
)
from livingpaper.book.outlook import Outlook
from livingpaper.book.parameters import ParameterError
from livingpaper.figures import figure_files

# Two kernels at once at most: a chapter may itself start one worker per core.
MAX_KERNELS = 2
# These read what the other chapters wrote to results/, so they run after them.
SUMMARIES = ("claims",)
Jobs = tuple[list[Job], list[Job]]
"""The chapters, and the notebooks that read their results."""
INTERRUPTION = "\nThe book was not built: interrupted. The same command goes on from the notebooks that are executed."


def run_all(jobs: Sequence[Job], root: Path, tier: str, stages: Stages) -> None:
    """Execute notebooks, two at a time; if some fail the others still finish.

    An appendix is executed after its chapter, in the same kernel: side by side both would train, measure and read the
    same. Where the chapter failed, the appendix has a kernel of its own.

    Args:
        jobs: what to execute; notebooks of one study stand next to each other, as ``find_jobs`` gives them.
        root: the folder of the book.
        tier: which parameters, for what is remembered of the time it took.
        stages: told when each begins and ends.

    Raises:
        BookError: at least one failed; the message holds every failure.
    """
    from livingpaper.book.study_kernel import StudyKernel  # slow to import; what makes pages needs as much

    failures, stopped = [], Event()

    def run_study(notebooks: Sequence[Job]) -> dict[str, float]:
        took = {}
        with closing(StudyKernel()) as kernel:
            for job in notebooks:
                if stopped.is_set():
                    break
                try:
                    with stages.stage(job.name):
                        words = run_notebook(job, root, kernel)
                except Exception as error:
                    words = "FAILED"
                    failures.append(str(error))
                    kernel.close()
                if words.startswith(EXECUTED_IN):
                    took[job.name] = float(words.removeprefix(EXECUTED_IN).removesuffix(" s"))
                write_line(f"{job.name}.ipynb: {words}")
        return took

    by_study = [list(notebooks) for _, notebooks in groupby(jobs, lambda job: job.source.stem)]
    pool = ThreadPoolExecutor(kernels())
    try:
        for future in as_completed([pool.submit(run_study, notebooks) for notebooks in by_study]):
            for name, seconds in future.result().items():
                Durations.of(root).remember(f"{tier} {name}", seconds)
    finally:
        stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)  # interrupted, nobody waits for a notebook
    if failures:
        raise BookError("\n\n".join(failures))


def kernels() -> int:
    """How many notebooks are executed at once."""
    return min(MAX_KERNELS, n_cores())


def find_jobs(root: Path, tier: str, executed: Path) -> Jobs:
    """Every notebook of the book with what it computes from now: the chapters, then those that read their results.

    Studies that take longest come first, so that none is left to end alone; an appendix comes after its chapter.

    Args:
        root: the folder that holds ``book/``, ``params/`` and ``published/``.
        tier: which parameters: ``published`` or ``smoke``.
        executed: the folder for the executed copies, their stamps and ``results/NAME.json``.
    """
    sources = sorted(path for folder in ("", APPENDIX) for path in (root / "book" / folder).glob("*.ipynb"))
    if not sources:
        raise BookError(f"there is no notebook in {root / 'book'}")
    inputs = hash_inputs(root)

    def job(source: Path, inputs: str) -> Job:
        parameters, copy = read_parameters(root, source, tier), executed / source.relative_to(root / "book")
        return Job(source=source, parameters=parameters, executed=copy, inputs=inputs)

    chapters = [job(source, inputs) for source in sources if source.stem not in SUMMARIES]
    known = Durations.of(root).expected([f"{tier} {chapter.name}" for chapter in chapters])
    seconds = Counter()
    for chapter in chapters:
        seconds[chapter.source.stem] += known.get(f"{tier} {chapter.name}", math.inf)
    chapters.sort(key=lambda chapter: (-seconds[chapter.source.stem], chapter.source.stem, APPENDIX in chapter.name))
    inputs += hash_files([chapter.results for chapter in chapters])
    return chapters, [job(source, inputs) for source in sources if source.stem in SUMMARIES]


def execute(jobs: Jobs, root: Path, tier: str, executed: Path, stages: Stages) -> None:
    """Bring the executed copy of every notebook of the book up to date; ``jobs`` and arguments as of ``find_jobs``."""
    (executed / "results").mkdir(parents=True, exist_ok=True)
    chapters, summaries = jobs
    n_stale = sum(not job.is_current for job in chapters)
    for result in (executed / "results").glob("*.json"):
        if result.stem not in {job.source.stem for job in (*chapters, *summaries)}:
            result.unlink()  # of a chapter that is gone
    # As many as run side by side import for themselves just as fast.
    with kernel_environment(tier, executed, kernels(), forked=n_stale > kernels()):
        run_all(chapters, root, tier, stages)
        if n_stale:
            summaries = find_jobs(root, tier, executed)[1]  # their inputs are the chapters' new results
        run_all(summaries, root, tier, stages)
    of = _of_figures([*chapters, *summaries])
    for file in {*(executed / figure_files.FOLDER).glob("*")} - of.keys():
        file.unlink()  # of a figure that is gone


def _of_figures(jobs: Sequence[Job]) -> dict[Path, str]:
    """The files of all figures, and the notebook that each is of."""
    found = {}
    for job in jobs:
        for path in job.figures():
            if (other := found.setdefault(path, job.name)) != job.name:
                figure, places = path.name.partition(".")[0], " and in ".join(sorted((other, job.name)))
                raise BookError(f"figure {figure!r} is in {places}: no two of a book have one name")
    return found


def outlook(jobs: Jobs, root: Path, tier: str, out: Path) -> Outlook:
    """What would be executed and built now, and the seconds it should take."""
    chapters, summaries = jobs
    stale = [job.name for job in chapters if not job.is_current]
    last = [job.name for job in summaries if stale or not job.is_current]
    pages = "all pages" if not _complete(out).exists() else "changed pages" if stale or last else "same pages"
    known = Durations.of(root).expected([pages, *(f"{tier} {name}" for name in (*stale, *last))])
    first, then = ({name: known.get(f"{tier} {name}") for name in names} for names in (stale, last))
    return Outlook(first, then, pages, known.get(pages), kernels())


def build(root: Path, tier: str, executed: Path, out: Path, watch: Watch) -> Path:
    """Say how long it will take, execute what has to be, build the pages; returns the path of the first page.

    Raises:
        BookError, ParameterError: the book cannot be built. ContentsError: published runs are missing, or too many.
        StoreError: recorded verdicts are not of this version.
    """
    if not (root / "_config.yml").exists():
        raise BookError(f"no _config.yml in {root}: run this from the folder of the book")
    check_present(root / "published")
    jobs = find_jobs(root, tier, executed)
    expected = outlook(jobs, root, tier, out)
    watch.say(str(expected))
    with watch.over(expected.lengths(), "building") as stages:
        execute(jobs, root, tier, executed, stages)
        with stages.stage("pages"), Durations.of(root).timed(expected.pages):
            page = assemble(root, out, executed)
    if tier == "published":
        from livingpaper.book.findings import write_findings  # as slow to import as what makes pages

        write_findings(root)
    return page


def _complete(out: Path) -> Path:
    """The file that says that the last build of the pages came to its end."""
    return out / ".doctrees" / "complete"


def assemble(root: Path, out: Path, executed: Path) -> Path:
    """Build the pages from the sources and their executed copies; returns the path of the first page.

    Raises:
        BookError: Sphinx raised or gave a warning (each is printed).
    """
    from jupyter_book.sphinx import build_sphinx

    # Sphinx warns of a page only when it reads it. After a build that failed or was killed, every page is read
    # again: otherwise a second call would find nothing to read, hence nothing wrong.
    complete = _complete(out)
    fresh = not complete.exists()
    complete.unlink(missing_ok=True)
    code = build_sphinx(
        root,
        out / "html",
        noconfig=True,  # there is no conf.py: everything is in _config.yml
        path_config=root / "_config.yml",
        confoverrides={"latex_individualpages": False, "paper_executed": str(executed)},
        doctreedir=out / ".doctrees",
        jobs=n_cores(),
        freshenv=fresh,
        warningiserror=True,
        keep_going=True,
        quiet=True,
    )
    if code:
        raise BookError("the pages did not build; the warnings are above")
    complete.touch()
    return out / "html" / "index.html"


@ended_by_ctrl_c(INTERRUPTION)
def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, build the book, print where it is and how long it took."""
    parser = argparse.ArgumentParser(prog="python -m livingpaper.book.build", description="Build the book.")
    parser.add_argument("--tier", choices=list(TIERS), default="published", help="which params/ to execute with")
    parser.add_argument("--out", type=Path, default=Path("_build"), help="folder for the pages")
    parser.add_argument("--executed", type=Path, help="folder for executed notebooks (build/executed/TIER)")
    options = parser.parse_args(arguments)
    root, start = Path.cwd(), time.perf_counter()
    executed = (options.executed or Path("build/executed") / options.tier).resolve()
    try:
        index = build(root, options.tier, executed, options.out.resolve(), Watch(say=partial(print, flush=True)))
    except (BookError, ParameterError, ContentsError, StoreError) as error:
        print(f"\nThe book was not built.\n{error}", file=sys.stderr)
        return 1
    print(f"{index} ({options.tier} tier, {time.perf_counter() - start:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
