"""So few configs that any three words that meet in one of them all still meet: what stands for all combinations."""

import itertools


def triples(config, words):
    """The words of a config, three at a time."""
    return set(itertools.combinations(((word, getattr(config, word)) for word in words), 3))


def of_all_triples(configs, words):
    """So few of the configs that all their triples of words are there, chosen greedily."""
    met = [(config, triples(config, words)) for config in configs]
    left, found = set().union(*(of_config for _, of_config in met)), []
    while left:
        config, of_config = max(met, key=lambda one: len(one[1] & left))
        found.append(config)
        left -= of_config
    return found
