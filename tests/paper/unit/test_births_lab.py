"""The birth lab: what the chart computes, read off its drawing, against the library's births, orders and verdicts."""

import html
import itertools
import json
import re
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pandas as pd
import pytest
import vl_convert
from judged import judged

from circuitcore.emergence.births import BirthRule, find_births
from circuitcore.emergence.definitions import Definition, Definitions
from circuitcore.emergence.order import orders
from circuitcore.emergence.spread import spread_per_seed
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, SEEDS
from livingpaper.claims.view import View
from livingpaper.figures import style, vega
from livingpaper.figures.births_lab import births_lab
from livingpaper.figures.lab_verdict import MIN_SEEDS, Size, intervals
from livingpaper.figures.rows import ColumnsError

pytestmark = pytest.mark.slow

MOTIFS = ("behaviour", "routing", "query key, probe", "copying")
EPOCHS = np.array([0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 150])
GATES = {"published": "gate_published", "named": "gate_named"}


def curve(rng, motif, missing):
    """A noisy rising curve with its gates; values on and just below the sliders' grid."""
    rising = 1 / (1 + np.exp(-(np.arange(len(EPOCHS)) - rng.uniform(0, 12)) / rng.uniform(0.2, 2)))
    values = np.clip(rising + rng.normal(0, 0.08, (3, len(EPOCHS))), 0, 1).round(2)
    values[0] -= 1e-6 * ((rng.random(len(EPOCHS)) < 0.2) & (values[0] > 0))
    values[rng.random(values.shape) < missing] = np.nan
    if motif == "behaviour":
        values[1:] = np.nan
    return dict(zip(("score", "gate_published", "gate_named"), values, strict=True)) | {"motif": motif, "epoch": EPOCHS}


def curves(seeds=range(4), seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    places = [(arm, run, motif) for arm in ("off", "on") for run in seeds for motif in MOTIFS]
    parts = [pd.DataFrame(curve(rng, motif, missing)).assign(arm=arm, init_seed=run) for arm, run, motif in places]
    return pd.concat(parts, ignore_index=True)


def view_of(table):
    return View(table, "epoch of birth", "validation prompts")


def settings(n, seed=1):
    """The start, and positions of the controls drawn from their grids."""
    rng = np.random.default_rng(seed)
    drawn = [
        {
            "threshold": int(rng.integers(50, 101)) / 100,
            "threshold_behaviour": int(rng.integers(50, 101)) / 100,
            "gate": str(rng.choice(["none", *GATES])),
            "threshold_gate": int(rng.integers(0, 101)) / 100,
            "held": int(rng.integers(1, 6)),
        }
        for _ in range(n)
    ]
    start = {"threshold": 0.85, "threshold_behaviour": 0.9, "gate": "published", "threshold_gate": 0.75, "held": 1}
    return [start, *drawn]


def svg_of(spec, setting=None):
    """The drawing with its controls somewhere else than where they start."""
    params = [{**param, "value": (setting or {}).get(param["name"], param["value"])} for param in spec["params"]]
    drawn = {name: part for name, part in spec.items() if name != "usermeta"} | {"params": params}
    return vl_convert.vegalite_to_svg(drawn, vl_version=vega.version())


def shown_births(svg):
    """(run, motif) -> epoch, or None for never, of every cell."""
    cells = re.findall(r'aria-label="motif: ([^"]*?); run: ([^"]*?); born: (\d+|never)"', svg)
    return {(run, motif): None if epoch == "never" else int(epoch) for motif, run, epoch in cells}


def words_of(svg):
    texts = re.findall(r"<text[^>]*>(.*?)</text>", svg)
    return [html.unescape(re.sub(r"(<[^>]*>)+", " ", text)).strip() for text in texts]


def births_by_library(table, setting):
    rows = []
    for (arm, seed, motif), part in table.groupby(["arm", "init_seed", "motif"], sort=False):
        least = setting["threshold_behaviour" if motif == "behaviour" else "threshold"]
        rule = BirthRule(
            least, "none" if setting["gate"] == "none" else "published", setting["threshold_gate"], setting["held"]
        )
        gates = part[GATES.get(setting["gate"], "gate_named")].fillna(np.inf).to_numpy(dtype=float)[None]
        after, by = find_births(part["epoch"].to_numpy(), part["score"].to_numpy()[None], gates, rule)
        rows.append((arm, seed, motif, after[0], by[0]))
    found = pd.DataFrame(rows, columns=["arm", "init_seed", "motif", "after", "by"])
    return found.astype({"after": "Int64", "by": "Int64"})


def wanted_births(born):
    return {(f"{row.arm} {row.init_seed}", row.motif): None if pd.isna(row.by) else row.by for row in born.itertuples()}


def one_decimal(value):
    """As the page writes it: a half goes up."""
    return str(Decimal(float(value)).quantize(Decimal("0.1"), ROUND_HALF_UP))


def wanted_spread(born, apart):
    """What ``emergence.spread``, and so the claims, say of how far births lie apart."""
    spans = spread_per_seed(born, apart)
    dated = born[born["motif"].isin(apart)]["by"]
    left_out = f"(mean over {len(spans)} seeds; not born and left out: {int(dated.isna().sum())} of {len(dated)})"
    names = " and ".join(", ".join(motif.replace(", ", " ") for motif in apart).rsplit(", ", 1))
    far = f"The births of {names} in one run lie {one_decimal(spans.mean())} epochs apart, first to last {left_out}."
    return [far if len(spans) else "Nothing is born."]


def shares_of_seeds(found):
    """Of each seed with a run that decides: the share of those runs in which the first motif is first."""
    decide = found[found["order"] != "undecided"]
    return decide["order"].eq("before").groupby(decide["init_seed"]).mean()


def wanted_words(born, pair=("copying", "routing"), apart=None):
    """The sentences that the library's own functions, and the rule ``Share`` of claims, lead to."""
    found = orders(born, pairs=[pair])
    shares, runs, words = shares_of_seeds(found), len(found), wanted_spread(born, apart or MOTIFS)
    few = f"fewer than {MIN_SEEDS} seeds decide"
    if shares.empty:
        return [*words, f"? Undecided: {few}", "No run decides whether copying is born before routing"]
    verdict = judged(shares.tolist(), rule=Share(), unit=SEEDS, bound=MORE_OFTEN_THAN_NOT)
    k, n = int((found["order"] == "before").sum()), int((found["order"] != "undecided").sum())
    words.append(f"{verdict.status}: {few}" if len(shares) < MIN_SEEDS else f"{verdict.status} at one half")
    low, high = verdict.estimate.low, verdict.estimate.high
    return [
        *words,
        f"in {k} of {n} runs that decide, of {len(shares)} seeds; Clopper-Pearson interval over seeds "
        f"[{low:.2f},\u00a0{high:.2f}]; {runs - n} of {runs} runs do not decide.",
    ]


@pytest.mark.parametrize("size", [Size(12, 1), Size(7, 2), Size(5, 3), Size(3, 4)])
def test_the_lab_carries_the_interval_of_every_share_that_can_come_up(size):
    """Up to a share of ``runs_per_seed`` decided runs of each seed, as the rule ``Share`` counts it."""
    found, possible = intervals(size), range(size.runs_per_seed + 1)
    assert len(found) == size.seeds + 1 and found[0] == []
    parts = sorted({k / n for n in possible if n for k in range(n + 1)})
    for n in range(1, size.seeds + 1):
        for shares in itertools.combinations_with_replacement(parts, min(n, 3)):
            values = [*shares, *[1.0] * (n - len(shares))]
            wanted = judged(values, rule=Share(), unit=SEEDS, bound=MORE_OFTEN_THAN_NOT).estimate
            place = sum(values) * size.steps
            assert place == pytest.approx(round(place)), "every share is a whole number of steps"
            assert found[n][round(place)] == pytest.approx([wanted.low, wanted.high], abs=1e-6)


@pytest.mark.parametrize("number", range(6))
def test_births_and_verdict_are_the_librarys_at_every_setting(number):
    table = curves(range(1 + number), seed=number)
    spec = style.specification(births_lab(view_of(table)))
    for setting in settings(5, seed=number):
        svg = svg_of(spec, setting)
        born = births_by_library(table, setting)
        assert shown_births(svg) == wanted_births(born), setting
        said = " ".join(words_of(svg))
        for words in wanted_words(born):
            assert words in said, (setting, said)
        assert said.count("never") == int(born["by"].isna().sum())


def test_missing_scores_never_pass_and_missing_gates_never_bind():
    table = curves(range(3), seed=9, missing=0.2)
    spec = style.specification(births_lab(view_of(table)))
    for setting in settings(6, seed=9):
        assert shown_births(svg_of(spec, setting)) == wanted_births(births_by_library(table, setting)), setting


RULES = {
    "This paper's": {
        motif: BirthRule(0.7 if motif == "behaviour" else 0.6, gate, 0.5, 2)
        for motif, gate in zip(MOTIFS, ("none", "named_families", "none", "named_families"), strict=True)
    },
    "The source's": {
        motif: BirthRule(0.9 if motif == "behaviour" else 0.85, "none" if motif == "behaviour" else "published")
        for motif in MOTIFS
    },
}


def defined(rules=RULES, apart=("behaviour", "copying")):
    """A definition for each of the rules, with scores ``a``, ``b``, ..."""
    among = [
        Definition(name=name, scores=scores, whose=f"{scores}'s", rules=of)
        for scores, (name, of) in zip("ab", rules.items(), strict=False)
    ]
    return Definitions(among=tuple(among), apart=apart)


def with_scores():
    """Curves of two kinds for the same runs."""
    return pd.concat([curves(seed=4).assign(scores="a"), curves(seed=5).assign(scores="b")], ignore_index=True)


def births_by_rules(table, rules):
    """Births under a definition's own rules; gates as the table has them."""
    rows = []
    for (arm, seed, motif), part in table.groupby(["arm", "init_seed", "motif"], sort=False):
        rule = rules[motif]
        gates = part["gate_published" if rule.gate == "published" else "gate_named"].fillna(np.inf).to_numpy()[None]
        after, by = find_births(part["epoch"].to_numpy(), part["score"].to_numpy()[None], gates, rule)
        rows.append((arm, seed, motif, after[0], by[0]))
    born = pd.DataFrame(rows, columns=["arm", "init_seed", "motif", "after", "by"])
    return born.astype({"after": "Int64", "by": "Int64"})


def test_a_definition_is_a_setting_by_name():
    """It opens on the first; each dates its own scores by its own rules, and says how far its births lie apart."""
    definitions, table = defined(), with_scores()
    # Where the rules of the first definition have no gate, neither have its scores.
    ungated = (table["scores"] == "a") & ~table["motif"].isin(["routing", "copying"])
    table.loc[ungated, ["gate_published", "gate_named"]] = np.nan
    spec = style.specification(births_lab(view_of(table), definitions=definitions))
    presets = spec["usermeta"]["presets"]
    at_start = {param["name"]: param["value"] for param in spec["params"] if "bind" in param}
    assert at_start == {"definition": "This paper's", **presets["settings"]["This paper's"]}
    assert presets["by"] == "definition" and list(presets["settings"]) == list(RULES)
    assert spec["params"][0]["bind"]["options"] == [*RULES, presets["other"]]
    for definition in definitions.among:
        svg = svg_of(spec, {"definition": definition.name, **presets["settings"][definition.name]})
        born = births_by_rules(table[table["scores"] == definition.scores], definition.rules)
        assert shown_births(svg) == wanted_births(born)
        said = " ".join(words_of(svg))
        assert f"{definition.name}. Born: {definition.scores}'s score at least" in said
        for words in wanted_words(born, apart=definitions.apart):
            assert words in said
    assert "A definition of your own. Born: " in " ".join(words_of(svg_of(spec, {"definition": presets["other"]})))


@pytest.mark.parametrize(
    ("copying", "words"),
    [
        (BirthRule(0.65, "none", 0.5, 2), r"one 'threshold' for all motifs; got \[0.6, 0.65"),
        (BirthRule(0.6, persistence=3), r"one 'held'.*got \[2, 3\]"),
        (BirthRule(0.6, "published", 0.5, 2), "one 'gate' for all"),
    ],
)
def test_rules_that_the_controls_cannot_express_are_refused(copying, words):
    definitions = defined({"One": {**RULES["This paper's"], "copying": copying}})
    with pytest.raises(ColumnsError, match=words):
        births_lab(view_of(with_scores()), definitions=definitions)


def test_a_threshold_between_two_steps_of_its_slider_is_refused():
    rules = {motif: replace(rule, threshold=0.605) for motif, rule in RULES["This paper's"].items()}
    with pytest.raises(ColumnsError, match="'One': the lab's 'threshold' goes in steps of 0.01; got 0.605"):
        births_lab(view_of(with_scores()), definitions=defined({"One": rules}))


def test_definitions_need_their_scores_and_names_of_their_own():
    only = with_scores().query("scores == 'a'")
    with pytest.raises(ColumnsError, match="unknown scores 'b'.*known: a"):
        births_lab(view_of(only), definitions=defined())
    with pytest.raises(ColumnsError, match="needs column 'scores'"):
        births_lab(view_of(curves()), definitions=defined())
    with pytest.raises(ValueError, match="a name each that no other has"):
        Definitions(among=(defined().among[0],) * 2, apart=MOTIFS)


def hand_made(orders, **changes):
    """One run for every pair of births (epochs at which copying and routing jump to 1; None for never)."""
    rows = [
        ("on", seed, motif, epoch, float(at is not None and epoch >= at), np.nan, np.nan)
        for seed, pair in enumerate(orders)
        for motif, at in zip(("copying", "routing"), pair, strict=True)
        for epoch in (0, 10, 20, 30)
    ]
    columns = ["arm", "init_seed", "motif", "epoch", "score", "gate_published", "gate_named"]
    return pd.DataFrame(rows, columns=columns).assign(**changes)


FEW = "? Undecided: fewer than 5 seeds decide"


@pytest.mark.parametrize(
    ("orders", "badge", "counts"),
    [
        ([(10, 20)] * 6, "✔ Supported at one half", "in 6 of 6 runs"),
        ([(10, 20)] * 5, "? Undecided at one half", "in 5 of 5 runs"),  # as often as not gives that once in 16
        ([(20, 10)] * 6, "✖ Refuted at one half", "in 0 of 6 runs"),
        ([(20, 10)] * 3 + [(10, 20)] * 3, "? Undecided at one half", "in 3 of 6 runs"),
        ([(10, 20)] * 4, FEW, "in 4 of 4 runs"),
        ([(10, 10)] * 6 + [(None, None)] * 2, FEW, "No run decides"),
        ([(0, None), (30, None), (None, 0), (20, 20)], FEW, "in 2 of 3 runs"),
    ],
)
def test_every_badge_is_earned_by_hand(orders, badge, counts):
    words = words_of(svg_of(style.specification(births_lab(view_of(hand_made(orders))))))
    assert badge in words and any(counts in said for said in words)


def both_arms(off, on):
    """Two runs of each seed, one in each arm."""
    return pd.concat([hand_made(off, arm="off"), hand_made(on, arm="on")], ignore_index=True)


@pytest.mark.parametrize(
    ("off", "on", "badge", "counts"),
    [
        # Ten runs of five seeds are five draws: ten in one direction would have been decided.
        ([(10, 20)] * 5, [(10, 20)] * 5, "? Undecided at one half", "in 10 of 10 runs that decide, of 5 seeds"),
        ([(10, 20)] * 6, [(10, 20)] * 6, "✔ Supported at one half", "in 12 of 12 runs that decide, of 6 seeds"),
        # One run that does not decide leaves its seed to the other run.
        ([(10, 20)] * 6, [(10, 10)] * 6, "✔ Supported at one half", "in 6 of 6 runs that decide, of 6 seeds"),
        ([(10, 20)] * 6, [(20, 10)] * 6, "? Undecided at one half", "in 6 of 12 runs that decide, of 6 seeds"),
    ],
)
def test_two_runs_of_a_seed_are_one_draw(off, on, badge, counts):
    words = words_of(svg_of(style.specification(births_lab(view_of(both_arms(off, on))))))
    assert badge in words and any(counts in said for said in words)


def test_the_claim_may_be_about_any_two_motifs():
    spec = style.specification(births_lab(view_of(hand_made([(10, 20)] * 6)), first="routing", second="copying"))
    words = words_of(svg_of(spec))
    assert "✖ Refuted at one half" in words
    assert any(said.startswith("Routing is born before copying in 0 of 6") for said in words)


def test_published_runs_and_the_readers_get_a_verdict_each():
    theirs = hand_made([(10, 20)] * 6, origin="paper")
    mine = hand_made([(20, 10)] * 2, origin="rerun")
    mine["init_seed"] += 100
    svg = svg_of(style.specification(births_lab(view_of(pd.concat([theirs, mine])))))
    words = words_of(svg)
    assert "published runs (n = 6): ✔ Supported at one half" in words
    assert "your runs (n = 2): ? Undecided: fewer than 5 seeds decide" in words
    assert {"on 0", "on 100, yours"} <= set(words) and shown_births(svg)["on 100, yours", "routing"] == 10


def test_the_controls_have_labels_and_the_picture_says_where_they_stand():
    spec = style.specification(births_lab(view_of(curves())))
    labels = {param["name"]: param["bind"]["name"].strip() for param in spec["params"] if "bind" in param}
    assert len(set(labels.values())) == 5 and all(labels.values())
    assert "behaviour at least" in labels.values()
    setting = {"threshold": 0.6, "threshold_behaviour": 0.7, "gate": "named", "threshold_gate": 0.5, "held": 3}
    said = " ".join(words_of(svg_of(spec, setting)))
    assert "score at least 0.60 (behaviour: 0.70)" in said
    assert "worst named family at least 0.50" in said and "held for 3 checkpoints" in said
    assert "no gate, held for 1 checkpoint." in " ".join(words_of(svg_of(spec, {"gate": "none"})))
    without = style.specification(births_lab(view_of(hand_made([(10, 20)]))))
    assert "threshold_behaviour" not in json.dumps(without)


def test_twenty_runs_fit_a_page_and_a_phone():
    motifs = [*MOTIFS, *(f"{name}, {how}" for how in ("probe", "patch") for name in ("query key", "slot", "value"))]
    levels = [["off", "on"], range(10), list(dict.fromkeys(motifs))[:9], range(75)]
    table = pd.DataFrame(itertools.product(*levels), columns=["arm", "init_seed", "motif", "epoch"])
    rng = np.random.default_rng(0)
    scores = dict(zip(("score", "gate_published", "gate_named"), rng.random((3, len(table))), strict=True))
    spec = style.specification(births_lab(view_of(table.assign(**scores))))
    assert len(json.dumps(spec["datasets"], separators=(",", ":"))) < 300_000
    narrow = {**spec["usermeta"]["narrow"], "datasets": spec["datasets"]}
    for drawn, width in ((spec, 700), (narrow, 360)):
        svg = svg_of(drawn)
        assert float(re.search(r'<svg[^>]*? width="([\d.]+)"', svg)[1]) <= width
        assert min(map(float, re.findall(r'font-size="([\d.]+)px"', svg))) >= 10


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows.drop(columns="gate_named"), "needs column 'gate_named'"),
        (lambda rows: pd.concat([rows, rows.head(1)]), "two rows for one checkpoint.*motif=copying, epoch=0"),
        (lambda rows: rows.assign(score=rows["score"] * 100), r"shares in \[0, 1\]; got 100"),
        (lambda rows: rows[rows["motif"] == "copying"], "unknown motif 'routing'.*known: copying"),
        (lambda rows: rows[(rows["motif"] == "copying") | (rows["init_seed"] > 0)], "no 'routing' in run 'on 0'"),
    ],
)
def test_tables_that_cannot_be_judged_are_refused(change, words):
    with pytest.raises(ColumnsError, match=words):
        births_lab(view_of(change(hand_made([(10, 20)] * 3))))
