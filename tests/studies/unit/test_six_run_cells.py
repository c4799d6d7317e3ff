"""Read-outs and sizes of the six-run matrix: which layer of three routes, ties and guesses, and what captions count."""

import pandas as pd

from livingpaper.book import studies
from livingpaper.claims.results import Results
from livingpaper.claims.verdict import Status
from livingpaper.claims.view import View, joined
from retrieval_circuits.six_run_matrix.figures import forced as figures
from retrieval_circuits.six_run_matrix.readings import forced

CLAIMS = {claim.id: claim for claim in studies.load("six_run_matrix").CLAIMS}
GUESS = 1 / 3


def networks(arm, routing, sweep="query_key_sweep"):
    """What the battery gives of networks of three layers of one head: by seed, how often each layer's head routes."""
    common = {"arm": arm, "step": 9, "family": "", "split": ""}
    rows = [
        {**common, "init_seed": seed, "run_id": f"{arm}{seed}", "metric": "routing_value", "family": sweep,
         "layer": layer, "head": 0, "site": f"L{layer}H0", "value": value}
        for seed, of_layers in enumerate(routing) for layer, value in enumerate(of_layers)
    ]  # fmt: skip
    ends = [
        {**common, "init_seed": seed, "run_id": f"{arm}{seed}", "metric": "accuracy", "split": "test", "value": 1.0}
        for seed in range(len(routing))
    ]
    return [*rows, *ends]


def results(arrow, query):
    rows = [*networks("arrow, 3 x 2", arrow), *networks("query, 3 x 2", query)]
    return Results(pd.DataFrame(rows), pd.DataFrame(), "paper")


LAST, MIDDLE, TIED = (GUESS, 0.5, 1.0), (GUESS, 0.9, 0.5), (GUESS, 1.0, 1.0)
NONE_ROUTES = (GUESS, GUESS, GUESS)


def test_the_page_says_which_leads_are_ties_and_where_no_head_routes():
    found = results([LAST, MIDDLE, TIED, NONE_ROUTES, NONE_ROUTES], [MIDDLE] * 5)
    layers = figures.routing_layers(found)
    assert figures.tie_numbers(layers) == {
        "lower_at_arrow": "1 of 5", "tied_at_arrow": "3 of 5", "no_router_at_arrow": "2 of 5",
        "lower_at_query": "5 of 5", "tied_at_query": "0 of 5", "no_router_at_query": "0 of 5",
    }  # fmt: skip
    yours = figures.routing_layers(results([LAST] * 5, [LAST] * 5))
    assert figures.tie_numbers(joined({"paper": layers, "rerun": yours}, {})) == figures.tie_numbers(layers)


def test_networks_in_which_no_head_routes_count_for_a_lower_layer_only_where_they_count():
    found = results([NONE_ROUTES] * 30, [LAST] * 30)
    assert forced.in_last_layer(found).tolist() == [0.5] * 30
    assert forced.in_last_layer(found, guesses="left out").tolist() == [1.0] * 30
    assert CLAIMS["SR26"].verdict(found).status is Status.SUPPORTED
    assert CLAIMS["SR21"].verdict(found).status is Status.UNDECIDED


def test_nothing_is_read_where_no_head_routes_anywhere():
    nothing = results([NONE_ROUTES] * 5, [NONE_ROUTES] * 5)
    assert CLAIMS["SR26"].verdict(nothing).status is Status.NOT_CHECKED


def with_seeds(**counts):
    rows = [{"group": group, "init_seed": seed} for group, n in counts.items() for seed in range(n)]
    return pd.DataFrame(rows)


def test_a_caption_counts_the_seeds_of_every_row():
    told = figures._seeds_of
    assert told(with_seeds(a=3, b=3)) == ""
    assert told(with_seeds(a=3, b=5)) == "; seeds: 5 in 'b'; 3 in 'a'"
    assert (
        told(with_seeds(a=5, b=35, c=9, d=9, e=9, f=5)) == "; seeds: 35 in 'b'; 5 in 'a' and 'f'; 9 in every other row"
    )


def test_networks_that_do_without_layer_0_are_counted_by_whose_data_they_saw():
    lost = {0: 0.0, 1: 0.2, 2: 0.6, 10: 0.1, 11: 0.3}
    rows = [{"group": figures.DEEP_AT_ARROW, "init_seed": seed, "value": value} for seed, value in lost.items()]
    rows.append({"group": "query, 3 layers, 2 heads each", "init_seed": 3, "value": 0.0})
    numbers = figures.support_numbers(View(pd.DataFrame(rows), "accuracy lost", "test"))
    assert numbers == {"spared_on_source": "2 of 3", "spared_elsewhere": "1 of 2"}
