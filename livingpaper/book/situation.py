"""What of a study's runs is here and what is missing, in words."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from circuitcore.ground.spelling import first_of
from circuitcore.training.errors import StoreError
from circuitcore.training.experiment import Experiment
from circuitcore.training.recipe import Recipe

if TYPE_CHECKING:
    from livingpaper.book.evidence import Evidence


def situation(evidence: "Evidence") -> str:
    """What is there and what is missing; a seed of an experiment is a run."""
    runs, wanted = each(evidence.published_units), each(evidence.units)
    if evidence.is_published:
        new = each(evidence.unmeasured("paper"))
        measured = f", but {len(new)} of them lack a table, which is measured" if new else " or measured"
        return f"All {len(runs)} published runs are here: nothing is trained{measured}."
    lines = []
    if evidence.has_published:
        lines.append(f"All {len(runs)} published runs are here; yours are shown beside them.")
    elif runs:
        found = len(runs) - len(evidence.unpublished)
        absent = f"{len(evidence.unpublished)} of {len(runs)} published runs are" if found else "No published run is"
        verb = "missing from" if found else "in"
        lines.append(f"{absent} {verb} {evidence.folders.published}: only the runs asked for are shown.")
    here = len(wanted) - len(evidence.missing) - len(evidence.uncomputed)
    computed = sum(isinstance(one, Experiment) for one in wanted)
    of_them = f", {computed} of experiments" if computed else ""
    lines.append(f"You ask for {len(wanted)} run(s){of_them}; {here} {'is' if here == 1 else 'are'} here already.")
    again = len(set(wanted) & set(runs)) if evidence.has_published else 0
    if again:
        lines.append(f"{again} of yours are published ones, and tell nothing new beside them.")
    if evidence.changed:
        lines.append(f"Not only the seeds are yours: other values of {', '.join(evidence.changed)}.")
    return "\n".join(lines)


def require_for_a_book(evidence: "Evidence") -> None:
    """Stop where a page of the book would train, or be made without some of the runs it is about.

    A book shows finished runs. Those of other parameters than the published ones may be trained by their page.

    Raises:
        StoreError: says which runs are missing, and what to do.
    """
    absent, name, folders = evidence.unpublished, evidence.name, evidence.folders
    if not absent or not evidence.asks_the_same:
        return
    n_runs = len(each(evidence.published_units))
    named = first_of(absent)
    if evidence.recorded or len(absent) < n_runs:
        raise StoreError(
            f"{folders.published}: {len(absent)} of {n_runs} runs of study {name} are missing: {named}. A book trains "
            f"none of them. Restore the folder (git restore {folders.published}); if its parameters are new: "
            f"circuitcore measure {name}, then python -m livingpaper.commands.publish {name}."
        )
    if evidence.missing or evidence.uncomputed or evidence.unmeasured("rerun"):
        raise StoreError(
            f"{folders.runs}: study {name} has runs that are not trained or measured yet, of {n_runs}: {named}. A book "
            f"trains none of them: circuitcore measure {name}"
        )


def each(units: Mapping[Any, Iterable[Recipe | Experiment]]) -> list[Any]:
    """Every recipe or experiment once, in the order of the arms."""
    return list(dict.fromkeys(one for of_arm in units.values() for one in of_arm))
