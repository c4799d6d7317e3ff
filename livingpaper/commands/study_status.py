"""Where a study's runs stand and what each arm costs: lines for a terminal, and a page."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from circuitcore.ground.durations import Durations
from circuitcore.ground.environment import Folders
from circuitcore.training.store.durable import write_durably
from circuitcore.training.store.run_store import RunStore
from circuitcore.training.sweeps.status import sweep_status
from circuitcore.training.sweeps.sweep import obtainable
from livingpaper.book import studies
from livingpaper.commands.forecast import forecasts
from livingpaper.commands.status_page import status_lines, status_page

FOLDER = Path("build/status")


def report(study: str, tier: str, engine: str | None, params, store: RunStore) -> Iterator[str]:
    """How far every arm and experiment is; then, once it is written, the place of the page.

    Without a checkout of the book there is no page: a folder that one happens to be in is left as it is. Nor is there
    one of runs elsewhere, which the command on the page would not look at.

    Args:
        study: its name.
        tier: whose parameters ``params`` are.
        engine: instead of theirs; None for none.
        params: of the study.
        store: where the runs are looked up.
    """
    module = studies.load(study)
    arms = {arm: obtainable(store, of_arm) for arm, of_arm in module.recipes(params).items()}
    experiments = studies.experiments(module, params)
    status = sweep_status(store, arms, experiments)
    folders = Folders.from_environment()
    durations = Durations.of(folders.root)
    from_nothing = forecasts(study, status, studies.instruments(module, params), experiments, durations)
    name, command = study, f"circuitcore status {study}"
    if tier != "published":
        name, command = f"{study}.{tier}", f"{command} --tier {tier}"
    if engine:
        name, command = f"{name}.{engine}", f"{command} --engine {engine}"
    yield "\n".join(status_lines(status, from_nothing))  # first: it can be read where the page cannot be written
    usual = store.absolute() == RunStore(folders.runs, folders.published).absolute()
    if not (folders.has_book and usual):
        return
    page = folders.root / FOLDER / f"{name}.html"
    text = status_page(f"Sweep of {name}", command, status, from_nothing, datetime.now().astimezone())
    write_durably(page, text.encode())
    yield str(page)
