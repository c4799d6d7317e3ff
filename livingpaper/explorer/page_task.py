"""A task as the page knows it: its words, its forms, and what its first prompt is."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from circuitcore.tasks.forms import as_json, matching
from circuitcore.tasks.token_task import TokenTask
from livingpaper.explorer.references import reference_tables


def page_task(task: TokenTask, examples: Sequence[Any], prompt: str, answer: str | None) -> dict[str, Any]:
    """What the page gets of a task, as JSON literals.

    Args:
        task: whose prompts are asked.
        examples: prompts to choose: dataclasses with ``label``, ``prompt`` and ``answer``.
        prompt: what the page shows first.
        answer: of that prompt; None where it has none.

    Raises:
        PromptError: a first prompt that the task does not have.
    """
    return {
        "vocab": list(task.vocab),
        "answers": list(task.answers),
        **as_json(task.forms),
        "references": reference_tables(task),
        "examples": [asdict(example) for example in examples],
        "first": _first(task, prompt, answer),
    }


def _first(task: TokenTask, prompt: str, answer: str | None) -> dict[str, Any] | None:
    """What the page would read of its first prompt: the number of its form, and its answer.

    So it can draw it before it has what reads prompts. None where that is needed even so: units that come again are
    unrolled there, and words separated by more than a space.
    """
    words = prompt.split()
    form = matching(task.forms, words)
    if form not in task.forms or prompt != " ".join(words):
        return None
    return {"prompt": prompt, "form": task.forms.index(form), "answer": answer}
