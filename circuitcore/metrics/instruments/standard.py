"""The instruments of the library: the battery, and beside it snapshots and features where its spec asks for them."""

from typing import TYPE_CHECKING

import pandas as pd

from circuitcore.metrics.instruments.battery import BATTERY_VERSION, BatterySpec, measure
from circuitcore.metrics.instruments.instrument import Instrument, Progress
from circuitcore.metrics.instruments.snapshots import SNAPSHOTS_VERSION, snapshot, snapshot_key

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run


def standard(spec: BatterySpec) -> tuple[Instrument, ...]:
    """What a spec asks for, as instruments: tables "measurements", "snapshots" and "features"."""
    asked = [("measurements", BATTERY_VERSION, measure, spec.key)]
    if spec.snapshots:
        asked.append(("snapshots", SNAPSHOTS_VERSION, _snapshots, snapshot_key(spec)))
    if spec.features:
        from circuitcore.metrics.instruments import features  # most specs never need it

        asked.append(("features", features.FEATURES_VERSION, _features, features.features_key(spec)))
    return tuple(
        Instrument(name=name, version=version, measures=measures, settings=spec, known_as=key)
        for name, version, measures, key in asked
    )


def _snapshots(run: "Run", spec: BatterySpec, progress: Progress) -> pd.DataFrame:
    return snapshot(run, spec)


def _features(run: "Run", spec: BatterySpec, progress: Progress) -> pd.DataFrame:
    from circuitcore.metrics.instruments.features import features

    return features(run, spec)
