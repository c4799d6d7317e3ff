"""Numbers that sentences take from tables: what stands beside a verdict and is drawn nowhere."""

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from livingpaper.figures.circuit import percent
from retrieval_circuits.associative_memory.design import JUDGED, RECALL
from retrieval_circuits.associative_memory.readings.memories import guessing, predicted_begin


def begins(results: Results) -> View:
    """By how much guessing begins later than predicted, by the prediction, in the tasks that the claim takes."""
    table = guessing(results)
    table = table[table["way"].isin(JUDGED)].assign(arm=RECALL).astype({"way": "str"})
    wanted = table["way"].map({way: predicted_begin(way) for way in JUDGED})
    table = table.assign(group=table["way"], value=table["begins"] / wanted - 1)
    return View(table[["group", "arm", "init_seed", "value"]], "of the predicted time", "prompts drawn anew")


def begins_in_words(begins: View) -> dict[str, str]:
    """The least and the most of it over tasks, as the text has them."""
    of_tasks = begins.published.groupby("group")["value"].mean()
    return {"late_least": percent(of_tasks.min()), "late_most": percent(of_tasks.max())}


WORD_VIEWS = {"begins": begins}
