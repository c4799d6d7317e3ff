"""The command line: ``circuitcore train|sweep|measure|rerun|verify|recompute|status|dataset|export|prompts|ask``.

What a command needs is imported inside it: torch and pandas take seconds, and ``--help`` needs neither.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from circuitcore.ground.environment import Folders
from circuitcore.ground.errors import EXPECTED, UserError
from circuitcore.ground.interruption import ended_by_ctrl_c
from livingpaper.commands import argument_types, language_models
from livingpaper.commands.missing import what_to_install
from livingpaper.commands.output import CUT_SHORT, drop_output, open_output
from livingpaper.commands.places import default_folders, places, require_runs

TIER = "params/NAME.TIER.yaml (default: published)"
INTERRUPTION = "\ncircuitcore: interrupted. Nothing that was kept is lost: run the same command again."


@ended_by_ctrl_c(INTERRUPTION)
def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status.

    0 done, 1 failed or damaged, 2 misused; where Ctrl-C ends it 130, and where its reader does, such as head, 141.
    """
    open_output()
    try:
        arguments = _parser().parse_args(argv)
        return arguments.command(arguments)
    except BrokenPipeError:
        drop_output()
        return CUT_SHORT
    except ModuleNotFoundError as error:
        print(f"circuitcore: {what_to_install(error)}", file=sys.stderr)
    except EXPECTED as error:
        print(f"circuitcore: {error}", file=sys.stderr)
    except OSError as error:
        print(f"circuitcore: {_unusable(error)}", file=sys.stderr)
    return 1


def _unusable(error: OSError) -> str:
    """What the system refused, with the path if it named one."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def _parser() -> argparse.ArgumentParser:
    from livingpaper.book import studies

    parser = argparse.ArgumentParser(prog="circuitcore", description="Train, measure and check the runs of the paper.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    train = _add(commands, "train", _train, "train one seed of a study, in every arm whose seeds are `seeds`")
    train.add_argument(
        "--seed", type=argument_types.seed, required=True, help="initial weights; need not be in the params file"
    )
    sweep = _add(commands, "sweep", _sweep, "train every run of a study that is missing, compute its experiments")
    measure = _add(commands, "measure", _measure, "measure what is missing on a study's runs, compute its experiments")
    rerun = _add(commands, "rerun", _rerun, "run a chapter with other seeds, beside the published ones")
    rerun.add_argument("--seeds", type=argument_types.seed, nargs="+", metavar="SEED", help="default: the tier's own")
    rerun.add_argument("--out", type=argument_types.folder, help="folder for the page and compare.json")
    status = commands.add_parser("status", help="list runs: finished or how far; or show how far a study's sweep is")
    status.add_argument("what", nargs="*", metavar="NAME", help="a study; or folders to list (default: runs published)")
    status.add_argument("--tier", default="published", help=TIER)
    status.set_defaults(command=_status)
    engine = "torch, native or stacked instead of the params file's: other runs"
    for command in (train, sweep, measure, rerun, status):
        command.add_argument("--engine", type=argument_types.engine, help=engine)
    for command in (train, sweep):
        command.add_argument("--workers", type=argument_types.count, help="processes at once (default: one per core)")
    for command in (train, sweep, measure):
        where = command.add_mutually_exclusive_group()
        where.add_argument(
            "--executor", default="processes", help="serial, processes, tcp://HOST:PORT of Dask, or cuda (stacked)"
        )
        where.add_argument(
            "--dask",
            dest="executor",
            default=argparse.SUPPRESS,
            type=argument_types.address,
            metavar="ADDRESS",
            help="the same as --executor ADDRESS, of a Dask scheduler: tcp://HOST:PORT, or tls://HOST:PORT",
        )
    for command in (train, sweep, measure, status):
        command.add_argument("--no-published", action="store_true", help="do without what is published")
        command.add_argument(
            "--params", type=argument_types.folder, default=studies.PARAMS_FOLDER, help="folder of parameter files"
        )
        _has_runs(command)
    _allows_tasks(status)
    _add_others(commands)
    return parser


def _add_others(commands) -> None:
    """The commands about runs, tasks and files rather than studies."""
    from circuitcore.ground.task_names import TASK_NAMES

    check = commands.add_parser("verify", help="check hashes, chain and recorded losses")
    check.add_argument("paths", nargs="*", type=Path, help="runs, folders of runs, or files (default: runs published)")
    _allows_tasks(check)
    check.set_defaults(command=_verify)
    rows = commands.add_parser("dataset", help="write a task's rows to standard output, one JSON object a line")
    rows.add_argument("task", metavar="TASK", help=f"one of: {', '.join(TASK_NAMES)}; or package.module:Class")
    rows.add_argument("--split", action="append", default=[], help="may be repeated (default: all splits, in order)")
    rows.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the task, such as n_val=100"
    )
    rows.set_defaults(command=_dataset)
    again = commands.add_parser("recompute", help="compute a stored table again from the weights that are here")
    again.add_argument("run", metavar="RUN", help="a run id, the beginning of one, or a run's place")
    again.add_argument("table", metavar="TABLE", help="its key, or the beginning of it: battery, snapshots, features")
    _has_runs(again)
    _allows_tasks(again)
    again.set_defaults(command=_recompute)
    bridge = commands.add_parser("export", help="write a run's weights as files that another library loads")
    bridge.add_argument("run", metavar="RUN", help="a run id, the beginning of one, or a run's folder")
    bridge.add_argument("--to", required=True, metavar="FORMAT", help="transformer-lens (TransformerLens below 4)")
    bridge.add_argument("--step", type=int, help="of a checkpoint whose weights are here (default: the last)")
    bridge.add_argument("--out", type=Path, metavar="FOLDER", help="new or empty (default: build/export/RUN-STEP)")
    _has_runs(bridge)
    _allows_tasks(bridge)
    bridge.set_defaults(command=_export)
    language_models.add_commands(commands)


def _has_runs(parser: argparse.ArgumentParser) -> None:
    text = "folder of the runs (default: %(default)s)"
    parser.add_argument("--runs", type=argument_types.folder, default=places().runs, help=text)


def _allows_tasks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-task",
        action="append",
        default=[],
        metavar="MODULE:CLASS",
        help="a task from elsewhere that the runs may name, whose code is then imported; may be repeated",
    )


def _add(commands, name: str, command, text: str) -> argparse.ArgumentParser:
    """A command about one study in one tier."""
    from livingpaper.book import studies

    parser = commands.add_parser(name, help=text, description=text)
    parser.add_argument("study", metavar="NAME", help=f"one of: {', '.join(studies.names())}; or an import path")
    parser.add_argument("--tier", default="published", help=TIER)
    parser.set_defaults(command=command)
    return parser


def _train(arguments: argparse.Namespace) -> int:
    recipes = _recipes(arguments, _params(arguments, seeds=[arguments.seed]))
    if not (chosen := [recipe for recipe in recipes if recipe.init_seed == arguments.seed]):
        raise UserError(f"no arm of {arguments.study} takes its seeds from `seeds`; circuitcore sweep trains them all")
    return _train_recipes(arguments, chosen)


def _sweep(arguments: argparse.Namespace) -> int:
    params = _params(arguments)
    _train_recipes(arguments, _recipes(arguments, params))
    _compute_experiments(arguments, params)
    return 0


def _measure(arguments: argparse.Namespace) -> int:
    from livingpaper.book import studies

    params, store = _params(arguments), _store(arguments)  # before what follows: wrong words should not wait for it
    from circuitcore.ground.durations import Durations
    from livingpaper.commands.measure import measure

    study, wanted = studies.load(arguments.study), _recipes(arguments, params)
    durations = Durations.of(Folders.from_environment().root)
    how = {"store": store, "executor": arguments.executor, "durations": durations, "watch": _watch()}
    measure(arguments.study, study, params, wanted, **how)
    _compute_experiments(arguments, params)
    print(f"All {len(wanted)} runs have their tables.")
    return 0


def _compute_experiments(arguments: argparse.Namespace, params) -> None:
    from circuitcore.ground.durations import Durations
    from circuitcore.training.sweeps.computing import compute_all
    from livingpaper.book import studies

    experiments = studies.experiments(studies.load(arguments.study), params)
    durations = Durations.of(Folders.from_environment().root)
    compute_all(_store(arguments), experiments, arguments.executor, durations, _watch())
    if experiments:
        print(f"All {sum(len(one.by_seed) for one in experiments)} tables of experiments are there.")


def _rerun(arguments: argparse.Namespace) -> int:
    _values(arguments)  # before what follows: wrong words should not wait for it
    if not arguments.seeds and arguments.tier == "published":
        raise UserError("--seeds: none; allowed: some that are not published, such as 101 102, or another --tier")
    from livingpaper.commands.rerun import rerun

    made = rerun(arguments.study, _instead(arguments, seeds=arguments.seeds), arguments.tier, arguments.out, _watch())
    print(f"{made.summary}\n{made.page}\n{made.comparison}")
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    from livingpaper.commands.run_checks import check_runs

    if not (arguments.paths or default_folders()):
        raise UserError(f"there is nothing to check: neither {places().runs} nor {places().published}; name a folder")
    n_ok, n_bad = check_runs(arguments.paths or default_folders(), arguments.allow_task, _watch())
    print(f"{n_ok} ok, {n_bad} bad.")
    return 1 if n_bad else 0


def _dataset(arguments: argparse.Namespace) -> int:
    from circuitcore.tasks import make_task
    from livingpaper.commands.dataset import json_lines, parameters_of

    task = make_task(arguments.task, parameters_of(arguments.set))
    for line in json_lines(task, arguments.split):
        sys.stdout.buffer.write(line.encode())  # bytes: the same lines where text would end them otherwise
    sys.stdout.buffer.flush()
    return 0


def _recompute(arguments: argparse.Namespace) -> int:
    from circuitcore.training.store.run_store import RunStore
    from livingpaper.commands.recompute import recompute

    store = RunStore(arguments.runs, places().published, arguments.allow_task)
    found = recompute(arguments.run, arguments.table, store)
    print("\n".join(found.lines()))
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from circuitcore.export import export, find_run
    from circuitcore.training.store.run_store import RunStore

    store = RunStore(arguments.runs, places().published, arguments.allow_task)
    folder = export(find_run(arguments.run, store), arguments.to, arguments.step, arguments.out)
    print(f"{folder}\nIn an environment with TransformerLens below 4, in that folder: from load import load")
    return 0


def _status(arguments: argparse.Namespace) -> int:
    if len(arguments.what) == 1 and _is_study(arguments.what[0]):
        return _sweep_status(arguments, arguments.what[0])
    from livingpaper.book import studies

    of_study = {"--tier": "published", "--engine": None, "--params": studies.PARAMS_FOLDER}
    if given := [word for word, usual in of_study.items() if getattr(arguments, word[2:]) != usual]:
        raise UserError(f"{given[0]} says something of one study; allowed: circuitcore status STUDY {given[0]} ...")
    if named := [name for name in arguments.what if name in studies.names()]:
        raise UserError(f"{named[0]} is a study; allowed: one study, or folders: {' '.join(arguments.what)}")
    folders = [arguments.runs, *(() if arguments.no_published else (places().published,))]
    folders = [Path(name) for name in arguments.what] or [path for path in folders if path.is_dir()]
    for path in folders:
        require_runs(path)
    from livingpaper.commands.run_listing import run_lines

    print("\n".join(run_lines(folders, arguments.allow_task)))
    return 0


def _is_study(name: str) -> bool:
    """Whether a word means a study (perhaps misspelt) rather than a folder of runs."""
    from livingpaper.book import studies

    return name in studies.names() or not (Path(name).exists() or set(name) & set("/\\"))


def _sweep_status(arguments: argparse.Namespace, study: str) -> int:
    arguments.study = study
    params, store = _params(arguments), _store(arguments)
    from livingpaper.commands.study_status import report

    for text in report(study, arguments.tier, arguments.engine, params, store):
        print(text)
    return 0


def _params(arguments: argparse.Namespace, **instead):
    """The parameters of the study and tier, some of them as the command line has them."""
    from livingpaper.book import studies

    return studies.validate(arguments.study, _values(arguments, arguments.params) | _instead(arguments, **instead))


def _values(arguments: argparse.Namespace, *folder: Path) -> dict[str, object]:
    """What the study's file of parameters holds. No study of a paper that is installed is imported for it."""
    from livingpaper.book import studies

    if arguments.study not in studies.names():
        studies.load(arguments.study)  # a misspelt study before a missing file of it
    return studies.read_params(arguments.study, arguments.tier, *folder)


def _instead(arguments: argparse.Namespace, **instead) -> dict[str, object]:
    """Parameters that the command line gives in place of the params file's; None is none."""
    return {name: value for name, value in {**instead, "engine": arguments.engine}.items() if value is not None}


def _recipes(arguments: argparse.Namespace, params) -> list:
    """The recipes of every arm, each once, as far as they can be had here."""
    from circuitcore.training.sweeps.sweep import obtainable
    from livingpaper.book import studies

    arms = studies.load(arguments.study).recipes(params).values()
    return obtainable(_store(arguments), dict.fromkeys(recipe for arm in arms for recipe in arm))


def _train_recipes(arguments: argparse.Namespace, recipes: list) -> int:
    from circuitcore.ground.durations import Durations, expected
    from circuitcore.training.sweeps.sweep import left_to_train, train_all

    store, durations = _store(arguments), Durations.of(Folders.from_environment().root)
    left = left_to_train(arguments.study, store, recipes, arguments.executor, arguments.workers)
    if left:
        print(expected(left, durations), flush=True)
    with durations.timed_work(left):
        runs = train_all(store, recipes, arguments.executor, arguments.workers, _watch())
    for run in runs:
        print(f"{run.path}  {run.origin}, {len(run.steps)} checkpoints, final step {run.final_step:,}")
    return 0


def _store(arguments: argparse.Namespace):
    """The ``RunStore`` that the command line names."""
    from circuitcore.training.store.run_store import RunStore

    return RunStore(arguments.runs, None if arguments.no_published else places().published)


def _watch():
    """A ``Watch`` that prints."""
    from circuitcore.ground.progress import Watch

    return Watch(say=partial(print, flush=True))


if __name__ == "__main__":
    sys.exit(main())
