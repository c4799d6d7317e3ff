"""Execute the chapters with one tier's parameters, then build the book.

``python -m circuitcore.book_build [--tier published|smoke] [--out _build]``, from the folder that holds
``_config.yml``. Papermill runs each notebook of ``book/`` into ``build/executed/TIER/``; a Sphinx hook
(``circuitcore.sphinx_ext``) shows those outputs under the source's prose. A notebook runs again only when
something it computes from has changed, so an edited sentence costs a page, not an execution.
"""

import argparse
import ast
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from circuitcore.contents import ContentsError, check_present
from circuitcore.durations import Durations
from circuitcore.environment import exported
from circuitcore.errors import UserError
from circuitcore.outlook import Outlook
from circuitcore.parameters import ParameterError, read_yaml
from circuitcore.progress import Stages, Watch, write_line
from circuitcore.spelling import unknown

# Each tier and the ending of its parameter files.
TIERS = MappingProxyType({"published": ".yaml", "smoke": ".smoke.yaml"})
# Two kernels at once at most: a chapter may itself start one worker per core.
MAX_KERNELS = 2
# These read what the other chapters wrote to results/, so they run after them.
SUMMARIES = ("claims",)
# These put pages together and compute nothing that a page shows.
ASSEMBLY = ("book_build.py", "sphinx_ext.py", "durations.py", "outlook.py", "progress.py")
# What a run is known by. The weights are not read: the ledger holds their hashes.
RUN_RECORDS = (".json", ".parquet", ".csv")
# ipykernel warns of its plain TCP socket at every start; its ipc transport fails when two kernels start at once.
QUIET_KERNEL = ["--log-level=50"]
EXECUTED_IN = "executed in "
ANSI_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class BookError(UserError, RuntimeError):
    """The book cannot be built; the message says which file is at fault and why."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One notebook to execute with one tier's parameters."""

    source: Path
    parameters: Mapping[str, object]
    executed: Path  # the executed copy; its stamp and its results lie beside it
    inputs: str  # hash of everything outside the notebook that it may compute from

    @property
    def results(self) -> Path:
        """Where the notebook leaves its numbers and verdicts (it need not)."""
        return self.executed.parent / "results" / f"{self.source.stem}.json"

    @property
    def stamp(self) -> Path:
        """The file that says what the executed copy was made from, and what it was."""
        return self.executed.with_suffix(".stamp.json")

    def hashes(self) -> dict[str, str]:
        """The stamp this job would leave now: one hash of what goes in, one of what came out."""
        cells = [[cell["id"], cell["source"], cell["metadata"].get("tags", [])] for cell in code_cells(self.source)]
        made_from = json.dumps([cells, self.parameters, self.inputs], sort_keys=True, default=str)
        return {
            "made_from": hashlib.sha256(made_from.encode()).hexdigest(),
            "made": hash_files([self.executed, self.results]),
        }

    def is_current(self) -> bool:
        """Whether the executed copy is there, unaltered, and made from today's inputs."""
        return self.stamp.exists() and json.loads(self.stamp.read_text()) == self.hashes()


def code_cells(notebook: Path) -> list[dict]:
    """The code cells of a notebook file, as JSON.

    Raises:
        BookError: it is not a notebook, or a cell has no id (outputs are matched to cells by id).
    """
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise BookError(f"{notebook} is not a Jupyter notebook: {error!r}") from error
    if nameless := [number for number, cell in enumerate(cells) if "id" not in cell]:
        raise BookError(f"{notebook}: cells {nameless} have no id; save it as nbformat 4.5 or newer")
    return [cell for cell in cells if cell["cell_type"] == "code"]


def hash_files(paths: Sequence[Path]) -> str:
    """One SHA-256 over the bytes of files, in the order given; a missing file counts as missing."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b"missing")
    return digest.hexdigest()


def hash_inputs(root: Path) -> str:
    """Hash what any chapter may compute from: the library, the pins and the published runs' records."""
    package = Path(__file__).resolve().parent
    library = [p for p in package.rglob("*") if p.suffix in {".py", ".js", ".css"}]
    records = [p for p in (root / "published").rglob("*") if p.suffix in RUN_RECORDS]
    library = [path for path in library if path.name not in ASSEMBLY]
    files = [*sorted(library), *sorted(records), root / "requirements.txt"]
    named = [path.relative_to(package if path in library else root).as_posix() for path in files]
    return hashlib.sha256(json.dumps([named, hash_files(files)]).encode()).hexdigest()


def read_parameters(root: Path, source: Path, tier: str) -> dict[str, object]:
    """The tier's parameters of a chapter; none when the chapter has no params file.

    Raises:
        BookError: the tier's file is missing while the other tier's exists, or it names a parameter that the
            notebook's ``parameters`` cell lacks (papermill would only warn).
        ParameterError: the file holds no mapping, or a name twice.
    """
    files = {name: root / "params" / f"{source.stem}{ending}" for name, ending in TIERS.items()}
    if not any(path.exists() for path in files.values()):
        return {}
    shown = files[tier].relative_to(root)
    if not files[tier].exists():
        raise BookError(f"{shown} is missing: {source.name} has parameters for another tier only")
    given, known = read_yaml(files[tier]), declared_parameters(source)
    for name in given:
        if name not in known:
            raise BookError(f"{shown}: {unknown('parameter', name, known)} in {source.name}")
    return given


def declared_parameters(notebook: Path) -> set[str]:
    """The names assigned in a notebook's ``parameters`` cell."""
    sources = [
        "".join(cell["source"]) for cell in code_cells(notebook) if "parameters" in cell["metadata"].get("tags", [])
    ]
    targets = [
        target
        for source in sources
        for statement in ast.parse(source).body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
    ]
    return {target.id for target in targets if isinstance(target, ast.Name)}


@contextmanager
def kernel_environment(tier: str, executed: Path) -> Iterator[None]:
    """Tell the kernels started inside that a book is being built, from which tier, and where results go."""
    wanted = {
        "PAPER_BUILD": "1",
        "PAPER_TIER": tier,
        "PAPER_RESULTS": str(executed / "results"),
        "OMP_NUM_THREADS": "1",  # the kernels share the cores with each other and with their own workers
    }
    with exported(wanted):
        yield


def run_notebook(job: Job, root: Path) -> str:
    """Execute one notebook unless its executed copy is current; returns what was done, in words.

    Raises:
        BookError: a cell raised, or the kernel died; the message ends with the traceback's end.
    """
    if job.is_current():
        return "unchanged"
    import papermill  # slow to import, and not needed when nothing has changed

    for stale in (job.stamp, job.results):
        stale.unlink(missing_ok=True)
    job.results.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    try:
        papermill.execute_notebook(
            str(job.source),
            str(job.executed),
            dict(job.parameters),
            cwd=str(root),
            kernel_name="python3",
            progress_bar=False,
            extra_arguments=QUIET_KERNEL,
        )
    except Exception as error:  # whatever stopped it, the book must not be built from its outputs
        end = ANSI_COLOURS.sub("", str(error)).strip()[-2000:]
        raise BookError(f"{job.source.name} failed ({type(error).__name__}):\n{end}") from error
    job.stamp.write_text(json.dumps(job.hashes()))
    return f"{EXECUTED_IN}{time.perf_counter() - start:.1f} s"


def run_all(jobs: Sequence[Job], root: Path, tier: str, stages: Stages) -> None:
    """Execute notebooks, two at a time; if some fail the others still finish.

    Raises:
        BookError: at least one failed; the message holds every failure.
    """
    failures = []

    def run_timed(job: Job) -> str:
        with stages.stage(job.source.stem):
            return run_notebook(job, root)

    with ThreadPoolExecutor(kernels()) as pool:
        running = {pool.submit(run_timed, job): job for job in jobs}
        for future in as_completed(running):
            job, error = running[future], future.exception()
            words = "FAILED" if error else future.result()
            if error is not None:
                failures.append(str(error))
            elif words.startswith(EXECUTED_IN):
                seconds = float(words.removeprefix(EXECUTED_IN).removesuffix(" s"))
                Durations.of(root).remember(f"{tier} {job.source.stem}", seconds)
            write_line(f"{job.source.name}: {words}")
    if failures:
        raise BookError("\n\n".join(failures))


def kernels() -> int:
    """How many notebooks are executed at once."""
    return min(MAX_KERNELS, os.cpu_count() or 1)


def find_jobs(root: Path, tier: str, executed: Path) -> tuple[list[Job], list[Job]]:
    """Every notebook of the book with what it computes from now: the chapters, then those that read their results.

    Args:
        root: the folder that holds ``book/``, ``params/``, ``circuitcore/`` and ``published/``.
        tier: which parameters: ``published`` or ``smoke``.
        executed: the folder for the executed copies, their stamps and ``results/NAME.json``.
    """
    sources = sorted((root / "book").glob("*.ipynb"))
    if not sources:
        raise BookError(f"there is no notebook in {root / 'book'}")
    inputs = hash_inputs(root)

    def job(source: Path, inputs: str) -> Job:
        parameters = read_parameters(root, source, tier)
        return Job(source=source, parameters=parameters, executed=executed / source.name, inputs=inputs)

    chapters = [job(source, inputs) for source in sources if source.stem not in SUMMARIES]
    inputs += hash_files([chapter.results for chapter in chapters])
    return chapters, [job(source, inputs) for source in sources if source.stem in SUMMARIES]


def execute(root: Path, tier: str, executed: Path, stages: Stages) -> None:
    """Bring the executed copy of every notebook of the book up to date; arguments as ``find_jobs``."""
    executed.mkdir(parents=True, exist_ok=True)
    chapters, summaries = find_jobs(root, tier, executed)
    for result in (executed / "results").glob("*.json"):
        if result.stem not in {job.source.stem for job in (*chapters, *summaries)}:
            result.unlink()  # of a chapter that is gone
    with kernel_environment(tier, executed):
        run_all(chapters, root, tier, stages)
        run_all(find_jobs(root, tier, executed)[1], root, tier, stages)  # their inputs are the chapters' new results


def outlook(root: Path, tier: str, executed: Path, out: Path) -> Outlook:
    """What would be executed and built now, and the seconds it should take."""
    chapters, summaries = find_jobs(root, tier, executed)
    stale = [job.source.stem for job in chapters if not job.is_current()]
    last = [job.source.stem for job in summaries if stale or not job.is_current()]
    pages = "all pages" if not _complete(out).exists() else "changed pages" if stale or last else "same pages"
    known = Durations.of(root).expected([pages, *(f"{tier} {name}" for name in (*stale, *last))])
    first, then = ({name: known.get(f"{tier} {name}") for name in names} for names in (stale, last))
    return Outlook(first, then, pages, known.get(pages), kernels())


def build(root: Path, tier: str, executed: Path, out: Path, watch: Watch) -> Path:
    """Say how long it will take, execute what has to be, build the pages; returns the path of the first page.

    Raises:
        BookError, ParameterError: the book cannot be built. ContentsError: published runs are missing, or too many.
    """
    if not (root / "_config.yml").exists():
        raise BookError(f"no _config.yml in {root}: run this from the folder of the book")
    check_present(root / "published")
    expected = outlook(root, tier, executed, out)
    watch.say(str(expected))
    with watch.over(expected.lengths(), "building") as stages:
        execute(root, tier, executed, stages)
        with stages.stage("pages"), Durations.of(root).timed(expected.pages):
            return assemble(root, out, executed)


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
        freshenv=fresh,
        warningiserror=True,
        keep_going=True,
        quiet=True,
    )
    if code:
        raise BookError("the pages did not build; the warnings are above")
    complete.touch()
    return out / "html" / "index.html"


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, build the book, print where it is and how long it took."""
    parser = argparse.ArgumentParser(prog="python -m circuitcore.book_build", description="Build the book.")
    parser.add_argument("--tier", choices=list(TIERS), default="published", help="which params/ to execute with")
    parser.add_argument("--out", type=Path, default=Path("_build"), help="folder for the pages")
    parser.add_argument("--executed", type=Path, help="folder for executed notebooks (build/executed/TIER)")
    options = parser.parse_args(arguments)
    root, start = Path.cwd(), time.perf_counter()
    executed = (options.executed or Path("build/executed") / options.tier).resolve()
    try:
        index = build(root, options.tier, executed, options.out.resolve(), Watch(say=partial(print, flush=True)))
    except (BookError, ParameterError, ContentsError) as error:
        print(f"\nThe book was not built.\n{error}", file=sys.stderr)
        return 1
    print(f"{index} ({options.tier} tier, {time.perf_counter() - start:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
