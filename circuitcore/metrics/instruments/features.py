"""What single directions stand for: selective channels and neurons, sparse features, superposition, drift.

One table beside a run's battery. All of it is of the last checkpoint but the drift, and of the read-out position.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from circuitcore.metrics.instruments import drift as dri
from circuitcore.metrics.instruments.battery import BatterySpec, open_session
from circuitcore.metrics.instruments.sections import Session
from circuitcore.metrics.instruments.selectivity import Selectivity, selectivity
from circuitcore.metrics.instruments.snapshots import spread
from circuitcore.metrics.instruments.tracked import (
    CONSTANT_BELOW,
    Sweep,
    deviation,
    tracked_sites,
    values_at_read_out,
    varies,
)
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.sparse import train_as_published
from circuitcore.metrics.scores.sparse_converged import train_to_convergence
from circuitcore.metrics.scores.superposition import geometry, held_out
from circuitcore.models.sites import Site
from circuitcore.tasks.base import Batch

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

FEATURES_VERSION = 1
COLUMNS = ("run_id", "step", "kind", "site", "feature", "variable", "other_step", "metric", "value")
TOP_NEURONS = 10  # of each layer
PUBLISHED_ROWS, PUBLISHED_HELD_OUT = 1024, 256
MOST_ROWS, CHOOSING = 8192 + 1024, 9  # of the training split; the last ninth chooses the L1 weight
HELD_OUT = 1024

SiteValues = Mapping[Site, Float[Tensor, "row _"]]


def features_key(spec: BatterySpec) -> str:
    """Name under which the table is stored."""
    return f"features-v{FEATURES_VERSION}-{spec.key}"


def features(run: "Run", spec: BatterySpec) -> pd.DataFrame:
    """Selectivity, sparse features, superposition and drift of one run.

    Returns:
        Columns ``run_id step kind site feature variable other_step metric value``; "" or missing where one does not
        apply. Eta squared is in [0, 1]; ``null95`` and ``null95_bases`` are its 95 % quantiles by chance, for the
        largest over the site's features and over variables (see ``selectivity``). By ``kind``:

        - ``eta2``: the most selective channel of each tracked site, the site's ``spread`` (deviation among prompts of
          one length over its size) and whether it counts as ``constant`` (then nothing else).
        - ``neurons``: the ten most selective of each MLP with their best variable; ``gap`` between the largest and the
          smallest class mean, ``write_norm``, and ``contribution``, the mean size of the activation times that norm.
        - ``sae_published``: per tracked site the source's autoencoder; ``eta2`` of its most selective feature, whose
          variable is the site's label, even where the site is ``constant``; then what ``superposition`` measures on
          256 rows of the validation split, or of ``Task.reported`` where there is none.
        - ``sae``: the same trained to convergence, in units of the standardised site; constant sites are left out, and
          so are features that are constant; superposition on 1024 test rows, decoder angles of those active there only.
          ``selective``: features labelled by each variable, beyond chance.
        - ``drift``: each of at most 24 checkpoints (``step``) against the first, the last and the one before it
          (``other_step``); relative to the earlier of the two.

    Raises:
        ValueError: a task without causal variables.
    """
    session = open_session(run.recipe.make_task(), spec)
    sweep, rows = Sweep.of(session), _Rows(run.run_id, run.steps[-1])
    with torch.inference_mode():
        net = Network(run.recipe.model, run.stack((run.steps[-1],)))
        at_end = _AtEnd(session, sweep, net, run.recipe.init_seed, spec.feature_steps)
        for section in (_channels, _neurons, _published, _converged):
            section(at_end, rows)
        _drift(run, sweep.some(dri.N_ROWS), rows)
    return rows.frame()


class _Rows:
    """Collects the table's rows."""

    def __init__(self, run_id: str, step: int):
        self.run_id, self.step = run_id, step
        self._rows: list[dict[str, Any]] = []

    def add(self, kind: str, site: Site, values: Mapping[str, int | float | Tensor], **labels: Any) -> None:
        """One row for each metric; numbers that do not exist (NaN or infinite) get none."""
        fixed = {"step": self.step, "kind": kind, "site": str(site), **labels}
        found = {metric: float(value) for metric, value in values.items()}
        self._rows += [{**fixed, "metric": metric, "value": v} for metric, v in found.items() if math.isfinite(v)]

    def frame(self) -> pd.DataFrame:
        table = pd.DataFrame(self._rows).reindex(columns=list(COLUMNS)).assign(run_id=self.run_id)
        for name in ("run_id", "kind", "site", "variable", "metric"):
            table[name] = table[name].astype(object).fillna("").astype("str").astype("category")
        whole = {"step": "int64", "feature": "Int64", "other_step": "Int64"}
        return table.astype({**whole, "value": "float64"})


@dataclass(frozen=True, eq=False)
class _AtEnd:
    """The last checkpoint, and what it is measured on."""

    session: Session
    sweep: Sweep
    net: Network
    seed: int
    most_steps: int

    @cached_property
    def tracked(self) -> SiteValues:
        """What stands at the tracked sites on the sweep rows."""
        return self.values(self.sweep.batches, tracked_sites(self.net.config))

    @cached_property
    def spread(self) -> dict[Site, float]:
        """Largest deviation among the channels of each tracked site."""
        return {site: float(deviation(values, self.sweep.length).amax()) for site, values in self.tracked.items()}

    @cached_property
    def varying(self) -> tuple[Site, ...]:
        """The tracked sites that are not constant by the rule in ``tracked``."""
        return tuple(site for site, spread in self.spread.items() if spread > CONSTANT_BELOW)

    def values(self, batches: Sequence[Batch], sites: Sequence[Site]) -> SiteValues:
        """What stands at the sites, without the axis of checkpoints."""
        return {site: values[0] for site, values in values_at_read_out(self.net, batches, sites).items()}

    def selectivity(self, values: SiteValues) -> dict[Site, Selectivity]:
        """Of the features of each site on the sweep rows."""
        return selectivity(values, self.sweep, self.session.task.variables)

    def selective(self, values: Float[Tensor, "*site row feature"]) -> Float[Tensor, "*site row feature"]:
        """Features as they are, but 0 where constant by the rule, so that they are selective of nothing."""
        return values * varies(values, self.sweep.length)[..., None, :]


def _channels(at_end: _AtEnd, rows: _Rows) -> None:
    for site, spread_of_site in at_end.spread.items():
        rows.add("eta2", site, {"spread": spread_of_site, "constant": site not in at_end.varying})
    for site, found in at_end.selectivity({site: at_end.tracked[site] for site in at_end.varying}).items():
        _add_best(rows, "eta2", site, found)


def _neurons(at_end: _AtEnd, rows: _Rows) -> None:
    config, sweep = at_end.net.config, at_end.sweep
    if config.mlp == "none":
        return
    values = at_end.values(sweep.batches, [Site("mlp_post", layer) for layer in range(config.n_layers)])
    for site, found in at_end.selectivity({site: at_end.selective(part) for site, part in values.items()}).items():
        write_norm = at_end.net.weights[f"blocks.{site.layer}.mlp.W_out"][0].norm(dim=-1)
        contribution = values[site].abs().mean(0) * write_norm
        for neuron in found.largest.topk(min(TOP_NEURONS, len(write_norm))).indices.tolist():
            variable = found.variables[int(found.label[neuron])]
            numbers = {
                "eta2": found.largest[neuron],
                "null95": found.null_rows,
                "null95_bases": found.null_bases,
                "gap": _gap(values[site][:, neuron], sweep.labels[variable]),
                "write_norm": write_norm[neuron],
                "contribution": contribution[neuron],
            }
            rows.add("neurons", site, numbers, feature=neuron, variable=variable)


def _published(at_end: _AtEnd, rows: _Rows) -> None:
    train = at_end.session.probe_train.rows(slice(0, PUBLISHED_ROWS))
    rest = at_end.session.splits.get("val", at_end.session.reported).rows(slice(0, PUBLISHED_HELD_OUT))
    sites = tuple(at_end.tracked)
    x, unseen = at_end.values([train], sites), at_end.values([rest], sites)
    for group in _by_width(at_end.tracked, sites):
        models = train_as_published(_stacked(x, group), at_end.seed)
        found = at_end.selectivity(_unstacked(group, models.features(_stacked(at_end.tracked, group))))
        numbers = held_out(models, _stacked(unseen, group))
        for number, site in enumerate(group):
            mine = {metric: values[number] for metric, values in numbers.items()}
            if site not in at_end.varying:
                del mine["explained_variance"]  # there is no variance but rounding's
            constant = {"constant": site not in at_end.varying}
            rows.add("sae_published", site, {**mine, **geometry(models.decoder[number]), **constant})
            _add_labels(rows, "sae_published", site, found[site])


def _converged(at_end: _AtEnd, rows: _Rows) -> None:
    task, sites = at_end.session.task, at_end.varying
    train = task.split(task.splits[0]).rows(slice(0, MOST_ROWS))
    x = at_end.values([train], sites)
    unseen = at_end.values([at_end.session.reported.rows(slice(0, HELD_OUT))], sites)
    for group in _by_width(at_end.tracked, sites):
        learnt, choosing = _stacked(x, group).split([len(train) - len(train) // CHOOSING, len(train) // CHOOSING], 1)
        trained = train_to_convergence(learnt, choosing, at_end.seed, at_end.most_steps)
        seen = trained.models.features(trained.seen(_stacked(at_end.tracked, group)))
        found = at_end.selectivity(_unstacked(group, at_end.selective(seen)))
        other = trained.seen(_stacked(unseen, group))
        numbers = {**held_out(trained.models, other), "l1_weight": trained.l1, "last_gain": trained.gain}
        active = (trained.models.features(other) > 0).any(1)
        for number, site in enumerate(group):
            mine = {metric: values[number] for metric, values in numbers.items()}
            angles = geometry(trained.models.decoder[number][:, active[number]])
            rows.add("sae", site, {**mine, **angles, "steps": trained.n_steps})
            _add_labels(rows, "sae", site, found[site])


def _drift(run: "Run", sweep: Sweep, rows: _Rows) -> None:
    steps = spread(run.steps, dri.N_CHECKPOINTS)
    compared = dri.pairs(len(steps))
    if not compared:
        return
    for site, values in dri.values_over_training(run, sweep, steps).items():
        found = dri.drift(values, sweep, compared)
        for number, (at, to) in enumerate(compared):
            numbers = {metric: values[number] for metric, values in found.items()}
            rows.add("drift", site, numbers, step=steps[at], other_step=steps[to])


def _add_best(rows: _Rows, kind: str, site: Site, found: Selectivity) -> None:
    feature, variable, eta = found.best()
    nulls = {"null95": found.null_rows, "null95_bases": found.null_bases}
    rows.add(kind, site, {"eta2": eta, **nulls}, feature=feature, variable=variable)


def _add_labels(rows: _Rows, kind: str, site: Site, found: Selectivity) -> None:
    _add_best(rows, kind, site, found)
    for variable, count in found.counts().items():
        rows.add(kind, site, {"selective": count}, variable=variable)


def _gap(values: Float[Tensor, " row"], labels: Int[Tensor, " row"]) -> Float[Tensor, ""]:
    """Largest less smallest mean over the rows of one class."""
    means = torch.stack([values[labels == label].mean() for label in labels.unique()])
    return means.max() - means.min()


def _by_width(values: SiteValues, sites: Sequence[Site]) -> list[tuple[Site, ...]]:
    """The sites, those of one width together: what is trained as one stack."""
    widths = dict.fromkeys(values[site].shape[-1] for site in sites)
    return [tuple(site for site in sites if values[site].shape[-1] == width) for width in widths]


def _stacked(values: SiteValues, sites: Sequence[Site]) -> Float[Tensor, "site row width"]:
    return torch.stack([values[site] for site in sites])


def _unstacked(sites: Sequence[Site], values: Float[Tensor, "site row feature"]) -> SiteValues:
    return dict(zip(sites, values, strict=True))
