"""The explorer in which the reader is asked first: the source's two models, step by step, guessed against."""

from collections.abc import Sequence

from livingpaper.explorer.exhibit import Example, Exhibit
from livingpaper.explorer.material import Material
from livingpaper.explorer.reveal import Reveal
from retrieval_circuits.permutation_recall.circuit import PLAN
from retrieval_circuits.permutation_recall.explorer import DISPLAYED, OPENING, prompt_of, shown_runs
from retrieval_circuits.permutation_recall.readings.models import ONE, TWO


def game(materials: Sequence[Material]) -> Exhibit:
    """One network of each of the source's models, the larger first: the published where they are.

    Args:
        materials: of the published runs and the reader's, or of either.
    """
    wanted = [materials[0].run(arm).run_id for arm in (TWO, ONE)]
    shown = {one.run.run_id: one for one in shown_runs(materials[0]) if one.run.run_id in wanted}
    task = shown[wanted[0]].run.recipe.make_task()
    form = Reveal(permutation=DISPLAYED[0], order=OPENING, repeats=task.repeat_ratio)
    labels = {"the opening": form.prompt, "the last x is new": prompt_of(DISPLAYED[1])}
    return Exhibit(
        name="game-recall", task=task, shown=tuple(shown[run] for run in wanted), plan=PLAN, form=form,
        examples=tuple(Example(label=label, prompt=prompt) for label, prompt in labels.items()),
    )  # fmt: skip
