"""What is measured on each arm, and what is computed without training."""

from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.tasks.balanced_stream import LONGER
from circuitcore.training.experiment import Experiment
from retrieval_circuits.bounds import BEHAVIOUR
from retrieval_circuits.sgd_formation.design.networks import (
    BY_HALF,
    CUTS,
    DRAWN,
    EVERY,
    FRESH,
    FULL,
    HALF,
    JOINED,
    LARGE,
    LEARNT_FROM,
    LINKS,
    LINKS_LATER,
    N_LOOKED,
    N_SET_ASIDE,
    N_SOURCE_TEST,
    OTHERS,
    OUR_FLOOR,
    OUR_RULES,
    REPORTED,
    SET_ASIDE,
    SHARES,
    SHOWN_AT,
    SOURCE_FLOOR,
    SOURCE_RULES,
    THROUGH,
    TRAINED_ON,
    WINDOWS,
    WITHOUT_KEY,
    WITHOUT_LOOKING,
    Params,
)
from retrieval_circuits.sgd_formation.measures import (
    AtSteps,
    Attributed,
    Benchmark,
    Counts,
    Cut,
    Examples,
    Featured,
    Followed,
    Hypotheses,
    Known,
    Linked,
    Neurons,
    Probed,
    Removed,
    Window,
    cut_looks,
    example_geometry,
    feature_births,
    feature_families,
    hypothesis_tests,
    joined,
    known_scores,
    link_tests,
    margin_parts,
    our_floor,
    our_rules,
    part_removed,
    parts_needed,
    probe_scores,
    source_floor,
    source_rules,
    spectra,
    states_exchanged,
    stream_scores,
    update_shares,
    without_neurons,
)
from retrieval_circuits.sgd_formation.measures.bases import ALL, UPDATES


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """What is measured on an arm: answers and attention of each checkpoint.

    Parts taken away at the end, but for networks that are trained on. On fresh rows links, neurons, families and what
    reads go by without a look-up; the source's network there, links and states exchanged; where weights are shipped,
    what carries an answer. Of networks looked at through training, answers alone, also without each part at each
    checkpoint, states exchanged, what heads join, and shares of updates.
    """
    if arm == THROUGH:
        return _through(params.n_rows)
    n_looked = min(N_LOOKED, params.n_rows)
    scores = Instrument(
        name="measurements", version=2, measures=stream_scores, settings=Counts(n_rows=params.n_rows, n_looked=n_looked)
    )
    if arm == TRAINED_ON:
        return (scores, _cut(params.n_rows, below=None))
    if arm == OTHERS:
        return (scores, *_taken_apart(params.n_rows, steps=()))
    removed = Removed(n_rows=n_looked, splits=(REPORTED[arm],))
    parts = Attributed(n_rows=n_looked)
    return (
        scores,
        Instrument(name="removed", version=1, measures=part_removed, when="last", settings=removed),
        Instrument(name="margin_parts", version=1, measures=margin_parts, when="last", settings=parts),
        *((links(params.n_rows),) if arm in (FRESH, DRAWN, LARGE) else ()),
        *((links(params.n_rows, 1), _window(params.n_rows)) if arm == LARGE else ()),
        *((_neurons(params.n_rows), *_of_reads(params.n_rows), _families(params)) if arm == FRESH else ()),
        *((_spectra(), *_taken_apart(params.n_rows, SHOWN_AT)) if arm == DRAWN else ()),
        *(_of_source(params) if arm == FULL else ()),
    )


def _through(n_rows: int) -> tuple[Instrument, ...]:
    """Each checkpoint, also without a part; what carries the rise, what heads join, and whose updates are."""
    removed = Removed(n_rows=min(N_SET_ASIDE, n_rows), splits=(REPORTED[THROUGH],))
    needed = Instrument(name="measurements", version=1, measures=parts_needed, settings=removed)
    counts = Counts(n_rows=n_rows, n_looked=min(N_LOOKED, n_rows))
    joins = Instrument(name=JOINED, version=1, measures=joined, settings=counts)
    return needed, _window(n_rows), joins, Instrument(name=SHARES, version=1, measures=update_shares, when="pairs")


def _neurons(n_rows: int) -> Instrument:
    """What is read without a few neurons."""
    settings = Neurons(n_rows=min(N_SET_ASIDE, n_rows), sizes=SET_ASIDE)
    return Instrument(name="neurons", version=1, measures=without_neurons, when="last", settings=settings)


def _of_reads(n_rows: int) -> tuple[Instrument, ...]:
    """What reads go by without a look-up, through training, and which looks answers need."""
    known = Instrument(name="known", version=1, measures=known_scores, settings=Known(n_rows=n_rows))
    return known, _cut(n_rows), _cut(n_rows, name=BY_HALF, below=HALF)


def _cut(n_rows: int, *, name: str = CUTS, below: float | None = WITHOUT_KEY) -> Instrument:
    """What is answered with some looks cut; also at the last checkpoint before a share of the reads is right."""
    steps = (WITHOUT_LOOKING,) if name == CUTS else ()
    settings = Cut(n_rows=min(N_LOOKED, n_rows), split="validation", steps=steps, below=below, n_asked=n_rows)
    return Instrument(name=name, version=3, measures=cut_looks, settings=settings)


def _window(n_rows: int) -> Instrument:
    """What carries the rise of the look-up, stage by stage."""
    settings = Window(begins=WITHOUT_KEY, ends=BEHAVIOUR.value, n_rows=n_rows, n_asked=n_rows)
    return Instrument(name=WINDOWS, version=1, measures=states_exchanged, settings=settings)


def _families(params: Params) -> Instrument:
    """Families of sparse features; where training is short, autoencoders are made in a few updates, too."""
    settings = Followed(
        steps=tuple(round(params.steps * at / LEARNT_FROM[-1] / EVERY) * EVERY for at in LEARNT_FROM),
        n_rows=min(N_LOOKED, params.n_rows),
        most_updates=params.steps,
        begins=WITHOUT_KEY,
    )
    return Instrument(name="families", version=1, measures=feature_families, settings=settings)


def _of_source(params: Params) -> tuple[Instrument, ...]:
    """What the source follows of its own network: its probe set, and sparse features of its states."""
    featured = Featured(steps=LEARNT_FROM, most_updates=min(params.full_steps, UPDATES[ALL]))
    return (
        Instrument(name="probe", version=1, measures=probe_scores, settings=Probed()),
        Instrument(name="features", version=1, measures=feature_births, settings=featured),
    )


def _spectra() -> Instrument:
    """Singular values."""
    return Instrument(name="spectra", version=1, measures=spectra, when="last", settings=AtSteps(steps=SHOWN_AT))


def _taken_apart(n_rows: int, steps: tuple[int, ...]) -> tuple[Instrument, ...]:
    """What is asked where weights are shipped, at some steps and at the last.

    Gradients of reads, and what carries an answer, in the distribution of training and out of it.
    """
    examples = Examples(steps=steps, n_rows=min(N_LOOKED, n_rows))
    tested = Hypotheses(steps=steps, n_rows=min(N_LOOKED, n_rows), splits=(REPORTED[DRAWN], LONGER))
    return (
        Instrument(name="geometry", version=1, measures=example_geometry, when="last", settings=examples),
        Instrument(name="hypotheses", version=1, measures=hypothesis_tests, when="last", settings=tested),
    )


def links(n_rows: int, layers_later: int = 0) -> Instrument:
    """What is tested where an explorer shows networks; or, at the end, of layers so many later than small ones' are."""
    steps, name = ((), LINKS_LATER) if layers_later else (SHOWN_AT, LINKS)
    settings = Linked(n_rows=min(N_LOOKED, n_rows), steps=steps, layers_later=layers_later)
    return Instrument(name=name, version=1, measures=link_tests, when="last", settings=settings)


def experiments(params: Params) -> tuple[Experiment, ...]:
    """What needs no training: how often rules are right, and the least loss, over many draws of either data set."""
    source = Benchmark(n_train=params.n_train, n_eval=N_SOURCE_TEST)
    ours = Benchmark(n_train=params.n_train, n_eval=params.n_test)
    return (
        Experiment(name=SOURCE_RULES, version=2, function=source_rules, params=source, seeds=params.data_seeds),
        Experiment(name=OUR_RULES, version=2, function=our_rules, params=ours, seeds=params.data_seeds),
        Experiment(name=SOURCE_FLOOR, version=1, function=source_floor, params=source, seeds=params.data_seeds),
        Experiment(name=OUR_FLOOR, version=1, function=our_floor, params=ours, seeds=params.data_seeds),
    )
