"""The stage of the chapter: who fetches what from where in networks of four layers, on rows that a reader draws."""

from collections.abc import Sequence
from dataclasses import replace
from string import ascii_lowercase

from circuitcore.tasks.chains import ChainRetrieval
from circuitcore.training.store.run import Run
from livingpaper.claims.results import SelectionError
from livingpaper.explorer.exhibit import PathStep
from livingpaper.explorer.hops import HopExhibit, HopRun
from livingpaper.explorer.hops_circuit import HopTest
from livingpaper.explorer.hops_widget import HopStage
from livingpaper.explorer.material import Material
from livingpaper.explorer.shown_run import Birth, Curve, ShownRun
from livingpaper.explorer.vector_form import Block, VectorForm
from livingpaper.figures.verdict_text import verdict_line
from retrieval_circuits.stacked_heads.circuit import hops, link_tests
from retrieval_circuits.stacked_heads.claims import CLAIMS
from retrieval_circuits.stacked_heads.design import FOLLOWED
from retrieval_circuits.stacked_heads.readings import ATTENDED, FIRST, JUMP, PREVIOUS, SECOND

BORN = {"joins": PREVIOUS, "fetches": FIRST, "hops": SECOND, "doubles": JUMP}
"""Kind of link -> the one whose attention through training dates it."""
TOLD = {"hops": "SH10", "doubles": "SH11"}
"""Kind of link -> the claim that says in how many networks there is one."""
OPENING = "SH4"
"""The claim that the first stop tells: what these networks learn, which is decided."""
KINDS = tuple((hop.name, hop.links) for hop in hops(FOLLOWED.n_steps))


def stage(materials: Sequence[Material]) -> HopStage:
    """The stage of all networks of the cell that is followed whose weights are here."""
    return HopStage(exhibit(materials))


def exhibit(materials: Sequence[Material]) -> HopExhibit:
    """What the stage shows; it opens on the network with most checkpoints."""
    runs = [
        (material, run)
        for material in materials
        for run in (material.by_checkpoints(str(FOLLOWED)) if material.runs(str(FOLLOWED)) else ())
    ]
    if not runs:
        raise SelectionError(f"no weights of {FOLLOWED} are here")
    task = runs[0][1].recipe.make_task()
    shown = tuple(_shown(material, run) for material, run in runs)
    bare = HopExhibit(name="explorer-stacked-heads", task=task, form=form(task), hops=hops(task.n_steps), runs=shown)
    spoken_of = {OPENING, *TOLD.values()}
    told = {claim.id: verdict_line(claim.verdict(materials[0].results)) for claim in CLAIMS if claim.id in spoken_of}
    return replace(bare, path=_path(bare), told=told)


def form(task: ChainRetrieval) -> VectorForm:
    """What its rows look like: pairs block by block, the farthest from the query first."""
    pairs = tuple(
        Block(name=f"pairs of step {k + 1}", places=(k, k + 1), roles=(f"key_{k}", f"value_{k}"))
        for k in reversed(range(task.n_steps))
    )
    return VectorForm(
        chains=tuple(ascii_lowercase[: task.n_chains]),
        blocks=(*pairs, Block(name="queries", places=(0,), roles=("queries",))),
        asked=task.asked,
        width=task.d_symbol,
    )


def _shown(material: Material, run: Run) -> HopRun:
    one = ShownRun(run=run, condition=material.condition(str(FOLLOWED)), births=_births(material, run))
    return HopRun(shown=one, tests={step: link_tests(run, step) for step in one.steps})


def _births(material: Material, run: Run) -> tuple[Birth, ...]:
    """When attention along each kind of link passes one half, of the head with most of it."""
    return tuple(
        _birth(label, material.curve(run, label, "attention", site=">".join(link))) for label, link in BORN.items()
    )


def _birth(label: str, curve: Curve) -> Birth:
    passed = next((i for i, value in enumerate(curve.values) if value > ATTENDED), None)
    if passed is None:
        return Birth(label=label, after=curve.steps[-1] if curve.steps else None, by=None)
    return Birth(label=label, after=curve.steps[passed - 1] if passed else None, by=curve.steps[passed])


def _path(shown: HopExhibit) -> tuple[PathStep, ...]:
    """The last checkpoint of each network, and of the first one an earlier checkpoint; worded from its tests."""
    first = shown.runs[0].shown
    places = [(first.run.run_id, first.steps[-1]), (first.run.run_id, first.steps[0])]
    places += [(one.shown.run.run_id, one.shown.steps[-1]) for one in shown.runs[1:3]]
    opening, *others = (_stop(shown, *place) for place in dict.fromkeys(places))
    return (replace(opening, claims=(OPENING,)), *others)


def _stop(shown: HopExhibit, run_id: str, step: int) -> PathStep:
    one, answers = shown.find(run_id), shown.says(run_id, step)
    tests = [test for test in one.tests.get(step, ()) if test.supported]
    wanted, said, errors = (
        " and ".join(words)
        for words in zip(*((one.wanted, one.nearest, f"{one.error:.2f}") for one in answers), strict=True)
    )
    asked = f"{shown.form.chains[0]}{shown.form.blocks[-1].places[0]}"
    aside = "" if said == wanted else f", where {wanted} are wanted"
    text = f"Asked for {asked}, it says {said}{aside} (squared error {errors})."
    if not tests:
        text += " No test supports a link of this network."
    told = tuple(TOLD[kind] for kind in _kinds(tests) if kind in TOLD)
    state = {"run": run_id, "step": step}
    return PathStep(title=_title(tests), text=text, state=state, claims=told)


def _kinds(tests: list[HopTest]) -> dict[str, list[str]]:
    """Kind of link that a test supports -> its heads, each once."""
    found = {name: [head for test in tests if test.link in links for head in test.heads] for name, links in KINDS}
    return {name: list(dict.fromkeys(heads)) for name, heads in found.items() if heads}


def _title(tests: list[HopTest]) -> str:
    kinds = _kinds(tests)
    if "fetches" not in kinds:
        return "Nothing is fetched yet."
    if "hops" in kinds:
        return "The query hops, and an answer looks ahead." if "doubles" in kinds else "The query hops."
    return "An answer looks ahead." if "doubles" in kinds else "The first look-up appears."
