"""The book's notebooks: with which parameters each is executed, what it is made from, and whether that has changed."""

import ast
import hashlib
import json
import multiprocessing
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from circuitcore.ground.environment import WORKERS, exported, n_cores
from circuitcore.ground.errors import UserError
from circuitcore.ground.spelling import unknown
from livingpaper.book.parameters import read_yaml
from livingpaper.book.studies import packages
from livingpaper.figures import figure_files

if TYPE_CHECKING:
    from livingpaper.book.study_kernel import StudyKernel

# Each tier and the ending of its parameter files.
TIERS = MappingProxyType({"published": ".yaml", "smoke": ".smoke.yaml"})
# These put pages together and compute nothing that a page shows.
ASSEMBLY = (
    *(f"livingpaper/book/{name}.py" for name in ("build", "notebooks", "merging", "sphinx_ext", "outlook", "findings")),
    *(f"livingpaper/book/{name}.py" for name in ("numbered_references", "page_sizes", "painted_svg", "shared_link")),
    *("circuitcore/ground/durations.py", "circuitcore/ground/progress.py"),
)
STAGE = MappingProxyType({"shows": "stage"})
"""Metadata of an output that is a stage."""
# What a run is known by. The weights are not read: the ledger holds their hashes.
RUN_RECORDS = (".json", ".zst", ".parquet", ".csv")
CODE = (".py", ".js", ".css")
# ipykernel warns of its plain TCP socket at every start; its ipc transport fails when two kernels start at once.
QUIET_KERNEL = ["--log-level=50"]
NEVER_CAME_UP = "Kernel died before replying"  # Jupyter's words
FORKED, PROVISIONERS = "forked-kernels", "jupyter_client.kernel_provisioners"  # the entry point in pyproject.toml
EXECUTED_IN = "executed in "
# The folder below ``book/`` for what a chapter shows at length: same name, same parameters.
APPENDIX = "appendix"
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
    def name(self) -> str:
        """What a watcher calls it: ``NAME``, or ``appendix/NAME``."""
        return name_of(self.source)

    @property
    def results(self) -> Path:
        """Where the notebook leaves its numbers and verdicts (it need not)."""
        return self.executed.parent / "results" / f"{self.source.stem}.json"

    @property
    def stamp(self) -> Path:
        """The file that says what the executed copy was made from, and what it was."""
        return self.executed.with_suffix(".stamp.json")

    def figures(self) -> list[Path]:
        """The files of figures that the executed copy names; none where it was not executed."""
        home = self.executed.parents[1 if self.executed.parent.name == APPENDIX else 0]
        text = self.executed.read_text(encoding="utf-8") if self.executed.is_file() else ""
        return [home / figure_files.FOLDER / name for name in sorted(set(figure_files.NAMED.findall(text)))]

    def hashes(self) -> dict[str, str]:
        """The stamp this job would leave now: one hash of what goes in, one of what came out."""
        cells = [[cell["id"], cell["source"], cell["metadata"].get("tags", [])] for cell in code_cells(self.source)]
        made_from = json.dumps([cells, self.parameters, self.inputs], sort_keys=True, default=str)
        return {
            "made_from": hashlib.sha256(made_from.encode()).hexdigest(),
            "made": hash_files([self.executed, self.results, *self.figures()]),
        }

    @cached_property
    def is_current(self) -> bool:
        """Whether the executed copy was there, unaltered, and made from today's inputs, when this was first asked."""
        return self.stamp.exists() and json.loads(self.stamp.read_text()) == self.hashes()


def name_of(notebook: Path) -> str:
    """Its place below ``book/`` without its ending: ``NAME``, or ``appendix/NAME``."""
    return f"{APPENDIX}/{notebook.stem}" if notebook.parent.name == APPENDIX else notebook.stem


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
    """Hash what any chapter may compute from: the code, the pins and the published runs' records."""
    homes = [Path(spec.origin).resolve().parent for spec in map(find_spec, ("circuitcore", "livingpaper", *packages()))]
    code = {path: home.parent for home in homes for path in home.rglob("*") if path.suffix in CODE}
    code = {path: above for path, above in code.items() if path.relative_to(above).as_posix() not in ASSEMBLY}
    records = [p for p in (root / "published").rglob("*") if p.suffix in RUN_RECORDS]
    files = [*sorted(code), *sorted(records), root / "requirements.txt"]
    named = [path.relative_to(code.get(path, root)).as_posix() for path in files]
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
    shown, notebook = files[tier].relative_to(root), f"{name_of(source)}.ipynb"
    if not files[tier].exists():
        raise BookError(f"{shown} is missing: {notebook} has parameters for another tier only")
    given, known = read_yaml(files[tier]), declared_parameters(source)
    for name in given:
        if name not in known:
            raise BookError(f"{shown}: {unknown('parameter', name, known)} in {notebook}")
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
def kernel_environment(tier: str, executed: Path, side_by_side: int = 1, *, forked: bool = False) -> Iterator[None]:
    """Tell the kernels started inside that a book is being built, from which tier, and where results go.

    Args:
        tier: whose parameters they get.
        executed: the folder of the executed copies.
        side_by_side: how many run at once; each gets its share of the cores.
        forked: begin them as forks of one process that has imported what chapters import (``forked_kernels``).
    """
    wanted = {
        "PAPER_BUILD": "1",
        "PAPER_TIER": tier,
        "PAPER_RESULTS": str(executed / "results"),
        "OMP_NUM_THREADS": "1",  # the kernels share the cores with each other and with their own workers
        WORKERS: str(max(1, n_cores() // side_by_side)),
    }
    # An installation of an older version lacks the entry point; Jupyter would then know no kernel at all.
    can_fork = (
        "forkserver" in multiprocessing.get_all_start_methods() and FORKED in entry_points(group=PROVISIONERS).names
    )
    if forked and can_fork:
        wanted["JUPYTER_DEFAULT_PROVISIONER_NAME"] = FORKED
    with exported(wanted):
        yield


def run_notebook(job: Job, root: Path, kernel: "StudyKernel | None" = None) -> str:
    """Execute one notebook unless its executed copy is current; returns what was done, in words.

    Args:
        job: the notebook.
        root: the folder it is executed in.
        kernel: what executes it; by default one of its own, which ends with it.

    Raises:
        BookError: a cell raised, or the kernel died; the message ends with the traceback's end.
    """
    if job.is_current:
        return "unchanged"
    for stale in (job.stamp, job.results):
        stale.unlink(missing_ok=True)
    job.executed.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    try:
        _execute(job, root, kernel)
    except Exception as error:  # whatever stopped it, the book must not be built from its outputs
        end = ANSI_COLOURS.sub("", str(error)).strip()[-2000:]
        raise BookError(f"{job.name}.ipynb failed ({type(error).__name__}):\n{end}") from error
    job.stamp.write_text(json.dumps(job.hashes()))
    return f"{EXECUTED_IN}{time.perf_counter() - start:.1f} s"


def _execute(job: Job, root: Path, kernel: "StudyKernel | None") -> None:
    """Execute a notebook; once more where its kernel never came up.

    Jupyter chooses the ports of a kernel before the kernel takes them, and somebody else may be first.
    """
    import papermill  # slow to import, and not needed when nothing has changed

    for last in (False, True):
        try:
            papermill.execute_notebook(
                str(job.source),
                str(job.executed),
                dict(job.parameters),
                cwd=str(root),
                kernel_name="python3",
                progress_bar=False,
                request_save_on_cell_execute=False,  # else all of it is written out twice a cell
                extra_arguments=QUIET_KERNEL,
                **({"km": kernel.manager()} if kernel else {}),
            )
        except RuntimeError as error:
            if last or NEVER_CAME_UP not in str(error):
                raise
        else:
            return
