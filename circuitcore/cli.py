"""The command line: ``circuitcore train|sweep|measure|rerun|verify|status|dataset``."""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from circuitcore import studies
from circuitcore.book_build import BookError
from circuitcore.dataset import json_lines, parameters_of
from circuitcore.durations import duration
from circuitcore.progress import Watch, one_by_one, write_line
from circuitcore.status_page import status_lines, status_page
from circuitcore.sweep_status import sweep_status
from circuitcore.tasks import TASKS, make_task
from circuitcore.training import ExecutorError, Recipe, RunStore, StoreError, verify
from circuitcore.training.durable import write_durably
from circuitcore.training.executor import SCHEMES
from circuitcore.training.ledger import LEDGER_NAME, Ledger
from circuitcore.training.loop import steps_done
from circuitcore.training.run import RECIPE_NAME, read_recipe
from circuitcore.training.sweep import obtainable, train_all
from circuitcore.training.verify import run_folders

# Wrong words on a command line, in a params file or a recipe; files that cannot be used. Anything else is a defect of
# ours, and keeps its traceback.
EXPECTED = (studies.StudyError, ValueError, StoreError, ExecutorError, BookError, ArithmeticError)

TIER = "params/NAME.TIER.yaml (default: published)"
STATUS_FOLDER = Path("build/status")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status (0 done, 1 failed or damaged, 2 misused, 130 interrupted)."""
    arguments = _parser().parse_args(argv)
    try:
        return arguments.command(arguments)
    except BrokenPipeError:  # whoever read, such as head, has enough
        _drop_output()
        return 0
    except EXPECTED as error:
        print(f"circuitcore: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ncircuitcore: interrupted. The same command goes on from the last checkpoint.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="circuitcore", description="Train, measure and check the runs of the paper.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    train = _add(commands, "train", _train, "train one seed of a study, every arm of it")
    train.add_argument("--seed", type=int, required=True, help="initial weights; need not be in the params file")
    sweep = _add(commands, "sweep", _sweep, "train every run of a study that is missing")
    measure = _add(commands, "measure", _measure, "measure every run of a study that has no table yet")
    rerun = _add(commands, "rerun", _rerun, "run a chapter with other seeds, beside the published ones")
    rerun.add_argument("--seeds", type=int, nargs="+", required=True, metavar="SEED")
    rerun.add_argument("--out", type=Path, help="folder for the page and compare.json")
    status = commands.add_parser("status", help="list runs: finished or how far; or show how far a study's sweep is")
    status.add_argument("what", nargs="*", metavar="NAME", help="a study; or folders to list (default: runs published)")
    status.add_argument("--tier", default="published", help=TIER)
    status.set_defaults(command=_status)
    for command in (train, sweep, measure, rerun, status):
        command.add_argument("--engine", help="torch, native or stacked instead of the params file's: other runs")
    for command in (train, sweep):
        command.add_argument("--workers", type=int, help="processes at once (default: one per core)")
    for command in (train, sweep, measure):
        where = command.add_mutually_exclusive_group()
        where.add_argument(
            "--executor", default="processes", help="serial, processes, tcp://HOST:PORT of Dask, or cuda (stacked)"
        )
        where.add_argument(
            "--dask",
            dest="executor",
            default=argparse.SUPPRESS,
            type=_address,
            metavar="ADDRESS",
            help="the same as --executor ADDRESS, of a Dask scheduler: tcp://HOST:PORT",
        )
    for command in (train, sweep, measure, status):
        command.add_argument("--no-published", action="store_true", help="do without what is published")
        command.add_argument("--params", type=Path, default=studies.PARAMS_FOLDER, help="folder of parameter files")
        command.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the runs (default: runs)")
    check = commands.add_parser("verify", help="check hashes, chain and recorded losses")
    check.add_argument("paths", nargs="*", type=Path, help="runs, folders of runs, or files (default: runs published)")
    check.set_defaults(command=_verify)
    rows = commands.add_parser("dataset", help="write a task's rows to standard output, one JSON object a line")
    rows.add_argument("task", metavar="TASK", help=f"one of: {', '.join(TASKS)}; or package.module:Class")
    rows.add_argument("--split", action="append", default=[], help="may be repeated (default: all splits, in order)")
    rows.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the task, such as n_val=100"
    )
    rows.set_defaults(command=_dataset)
    return parser


def _address(text: str) -> str:
    """The address of a Dask scheduler, checked as far as that goes without one."""
    if not text.startswith(SCHEMES):
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: tcp://HOST:PORT of a Dask scheduler")
    return text


def _add(commands, name: str, command, text: str) -> argparse.ArgumentParser:
    """A command about one study in one tier."""
    parser = commands.add_parser(name, help=text, description=text)
    parser.add_argument("study", metavar="NAME", help=f"one of: {', '.join(studies.names())}; or an import path")
    parser.add_argument("--tier", default="published", help=TIER)
    parser.set_defaults(command=command)
    return parser


def _train(arguments: argparse.Namespace) -> int:
    studies.load(arguments.study)  # a misspelt study before a missing file of it
    recipes = _recipes(arguments, _params(arguments, seeds=[arguments.seed]))
    return _train_recipes(arguments, [recipe for recipe in recipes if recipe.init_seed == arguments.seed])


def _sweep(arguments: argparse.Namespace) -> int:
    return _train_recipes(arguments, _recipes(arguments, _params(arguments)))


def _measure(arguments: argparse.Namespace) -> int:
    from circuitcore.measuring import by_spec, measure_all  # the metrics take a second to import; training needs none

    study, params, store = studies.load(arguments.study), _params(arguments), _store(arguments)
    arms = {arm: obtainable(store, recipes) for arm, recipes in study.recipes(params).items()}
    train_all(store, _recipes(arguments, params), arguments.executor, watch=_watch())
    for spec, recipes in by_spec(arms, {arm: study.battery(params, arm) for arm in arms}).items():
        tables = measure_all(store, spec, recipes, arguments.executor, _watch())
        print(f"{len(tables)} table(s) of battery {spec.key}, {sum(map(len, tables)):,} rows.")
    return 0


def _rerun(arguments: argparse.Namespace) -> int:
    from circuitcore.rerun import rerun  # brings in the whole book

    made = rerun(arguments.study, _instead(arguments, seeds=arguments.seeds), arguments.tier, arguments.out, _watch())
    print(f"{made.page}\n{made.comparison}")
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    paths = arguments.paths or _default_folders()
    subjects = [found for path in paths for found in (run_folders(path) or [path] if path.is_dir() else [path])]
    what = f"Checking {len(subjects)} run(s) or file(s): hashes, chain, and the recorded loss of every checkpoint"
    loads = {subject: float(len(list(subject.glob("step-*"))) or 1) for subject in subjects}
    checked = one_by_one(lambda subject: (subject, verify(subject)), loads, _watch(), partial(_expected_of, what))
    n_bad = 0
    for subject, problems in checked:
        n_bad += bool(problems)
        lines = [f"BAD  {problem}" for problem in problems] or [f"ok   {subject}"]
        write_line("\n".join(lines))
    print(f"{len(subjects) - n_bad} ok, {n_bad} bad.")
    return 1 if n_bad else 0


def _expected_of(what: str, seconds: float) -> str:
    return f"{what}: expected {duration(seconds)} (the first few, timed here, times what is left)."


def _dataset(arguments: argparse.Namespace) -> int:
    task = make_task(arguments.task, parameters_of(arguments.set))
    for line in json_lines(task, arguments.split):
        sys.stdout.buffer.write(line.encode())  # bytes: the same lines where text would end them otherwise
    sys.stdout.buffer.flush()
    return 0


def _status(arguments: argparse.Namespace) -> int:
    if len(arguments.what) == 1 and _is_study(arguments.what[0]):
        return _sweep_status(arguments, arguments.what[0])
    return _list_runs([Path(name) for name in arguments.what] or _default_folders())


def _is_study(name: str) -> bool:
    """Whether a word means a study (perhaps misspelt) rather than a folder of runs."""
    return name in studies.names() or not (Path(name).exists() or set(name) & set("/\\"))


def _sweep_status(arguments: argparse.Namespace, study: str) -> int:
    arguments.study, store = study, _store(arguments)
    recipes = studies.load(study).recipes(_params(arguments))
    status = sweep_status(store, {arm: obtainable(store, of_arm) for arm, of_arm in recipes.items()})
    name, command = study, f"circuitcore status {study}"
    if arguments.tier != "published":
        name, command = f"{study}.{arguments.tier}", f"{command} --tier {arguments.tier}"
    page = STATUS_FOLDER / f"{name}.html"
    text = status_page(f"Sweep of {name}", command, status, datetime.now().astimezone())
    write_durably(page, text.encode())
    print("\n".join([*status_lines(status), str(page)]))
    return 0


def _list_runs(folders: Iterable[Path]) -> int:
    rows = [
        (str(folder), _state(folder), f"{_size(folder) / 1e6:.1f} MB")
        for path in folders
        for folder in sorted(recipe.parent for recipe in path.glob(f"[!.]*/{RECIPE_NAME}"))
    ]
    for row in rows:
        print("  ".join(text.ljust(max(len(other[i]) for other in rows)) for i, text in enumerate(row)).rstrip())
    print(f"{len(rows)} run(s).")
    return 0


def _state(folder: Path) -> str:
    """Finished, or how far; or why that cannot be said."""
    if not (folder / LEDGER_NAME).exists():
        return "begun"
    try:
        ledger = Ledger.read(folder)
        if not ledger.finished:
            return f"{steps_done(folder):,} of {read_recipe(folder, ledger).n_steps:,} steps"
    except (StoreError, ValueError) as error:
        return f"BAD: {error}"
    kept = sum(entry.kept for entry in ledger.entries)
    return f"finished, {ledger.entries[-1].step:,} steps, {kept} of {len(ledger.entries)} checkpoints here"


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _params(arguments: argparse.Namespace, **instead):
    """The parameters of the study and tier, some of them as the command line has them."""
    studies.load(arguments.study)  # a misspelt study before a missing file of it
    values = studies.read_params(arguments.study, arguments.tier, arguments.params)
    return studies.validate(arguments.study, values | _instead(arguments, **instead))


def _instead(arguments: argparse.Namespace, **instead) -> dict[str, object]:
    """Parameters that the command line gives in place of the params file's."""
    return instead | ({} if arguments.engine is None else {"engine": arguments.engine})


def _recipes(arguments: argparse.Namespace, params) -> list[Recipe]:
    """The recipes of every arm, each once, as far as they can be had here."""
    arms: Iterable[tuple[Recipe, ...]] = studies.load(arguments.study).recipes(params).values()
    return obtainable(_store(arguments), dict.fromkeys(recipe for arm in arms for recipe in arm))


def _train_recipes(arguments: argparse.Namespace, recipes: list[Recipe]) -> int:
    runs = train_all(_store(arguments), recipes, arguments.executor, arguments.workers, _watch())
    for run in runs:
        print(f"{run.path}  {run.origin}, {len(run.steps)} checkpoints, final step {run.final_step:,}")
    return 0


def _store(arguments: argparse.Namespace) -> RunStore:
    return RunStore(arguments.runs, None if arguments.no_published else Path("published"))


def _watch() -> Watch:
    return Watch(say=partial(print, flush=True))


def _drop_output() -> None:
    """Let what is still to be written go nowhere: Python writes it out when it ends, and would complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _default_folders() -> list[Path]:
    return [path for path in (Path("runs"), Path("published")) if path.is_dir()]


if __name__ == "__main__":
    sys.exit(main())
