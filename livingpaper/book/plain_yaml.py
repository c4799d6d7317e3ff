"""YAML as parameter files need it: one mapping of plain values, every key once, nothing that is short but endless."""

from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import yaml

from circuitcore.ground.plain_values import MAX_DEPTH, MAX_DIGITS, MAX_VALUES, named, shown
from circuitcore.ground.reading import read_file

MAX_BYTES = 1_000_000
MAPPING = "YAML that is one mapping from parameter to value, every key once"
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
MERGE = "tag:yaml.org,2002:merge"


class FileFault(Exception):
    """What a file cannot be used for: ``key`` names the parameter (or the file), ``given`` what and where."""

    def __init__(self, key: str, given: str, allowed: str):
        self.key, self.given, self.allowed = key, given, allowed
        super().__init__(f"{key}: given {given}; allowed: {allowed}")


def read_mapping(path: Path) -> dict[str, object]:
    """The mapping in a YAML file, its keys in their order.

    Raises:
        FileFault: it cannot be read, is too large, is no YAML or no mapping, repeats a key, or holds what a parameter
            cannot be: a link to another value, more levels or values than are needed, a number or date that is none.
    """
    try:
        text = read_file(path, MAX_BYTES).decode()
    except OSError as error:
        raise FileFault(path.name, f"a file that cannot be read ({error.strerror})", MAPPING) from error
    except UnicodeDecodeError as error:
        raise FileFault(path.name, f"no UTF-8 at byte {error.start:,} ({error.reason})", MAPPING) from error
    loader = None
    try:
        loader = _PlainLoader(text, path.name)  # refuses characters that YAML does not have
        return loader.mapping()
    except yaml.YAMLError as error:
        message = " ".join(str(error).replace('in "<unicode string>",', "at").split())
        raise FileFault((loader and loader.key) or path.name, f"no plain YAML: {message}", MAPPING) from error


class _PlainLoader(yaml.SafeLoader):
    """Safe YAML that stops at the first value that a parameter cannot be; ``key`` is the parameter it is reading."""

    def __init__(self, text: str, name: str):
        super().__init__(text)
        self.key, self._name, self._n_values, self._depth = "", name, 0, -1

    def mapping(self) -> dict[str, object]:
        """The only document of the file, a mapping; FileFault or YAMLError where it is none."""
        node = self.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            given = shown(self.construct_document(node)) if node else shown(None)
            raise FileFault(self._name, given, MAPPING)
        values, self.key = {}, ""
        for key, value in self._pairs(node):
            self.key = named(key)
            values[key] = self.construct_object(value, deep=True)
            self.key = ""
        return values

    def compose_node(self, parent, index):
        """PyYAML's first step, from text to a tree: here whatever is short and endless ends."""
        event = self.peek_event()
        if self._depth == 0 and isinstance(index, yaml.ScalarNode):
            self.key = named(index.value)
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            self._refuse("a link (&name, *name)", "values written out", event)
        self._n_values += 1
        if self._n_values > MAX_VALUES:
            self._refuse(f"more than {MAX_VALUES:,} values", "fewer in one file", event)
        if self._depth > MAX_DEPTH:
            self._refuse(f"more than {MAX_DEPTH} lists and mappings inside each other", "fewer", event)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def construct_object(self, node, deep=False):  # noqa: FBT002 - the signature is PyYAML's
        """PyYAML's second step, from the tree to values."""
        text = node.value if isinstance(node, yaml.ScalarNode) else ""
        if node.tag in NUMBERS and len(text) > MAX_DIGITS:
            self._refuse(f"a number of {len(text):,} characters", f"at most {MAX_DIGITS}", node)
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:  # of int(), date(), ...
            kind, why = node.tag.rpartition(":")[2], f" ({error})" if isinstance(error, ValueError) else ""
            self._refuse(f"{shown(text)}, which is no {kind}{why}", "one that exists, or text in quotes", node)

    def construct_mapping(self, node, deep=False):  # noqa: FBT002 - the signature is PyYAML's
        """A mapping inside the file's own."""
        return {key: self.construct_object(value, deep=True) for key, value in self._pairs(node)}

    def _pairs(self, node: yaml.MappingNode) -> Iterator[tuple[str, yaml.Node]]:
        """Keys with the nodes of their values; keys are text, and each is there once."""
        keys = set()
        for key_node, value in node.value:
            if key_node.tag == MERGE:
                self._refuse("a merge key (<<)", "values written out", key_node)
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                self._refuse(f"{shown(key)} as a key", "text, in quotes if need be", key_node)
            if key in keys:
                self._refuse(f"a key given twice: {named(key)}", "every key once", key_node)
            keys.add(key)
            yield key, value

    def _refuse(self, given: str, allowed: str, where: yaml.Node | yaml.Event) -> NoReturn:
        key = self.key or (named(where.value) if isinstance(where, yaml.ScalarNode) else self._name)
        raise FileFault(key, f"{given} at line {where.start_mark.line + 1:,}", allowed)
