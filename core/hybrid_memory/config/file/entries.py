"""What stands where in a YAML file."""

from __future__ import annotations

import re
from dataclasses import dataclass

import yaml
from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode

from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.validation import shown

_TAG = "tag:yaml.org,2002:"
_TYPED = {f"{_TAG}{name}" for name in ("null", "bool", "int", "float")}
_WRITTEN = {f"{_TAG}{name}" for name in ("str", "timestamp", "value", "merge")}
_SECRETS = re.compile(r"(?<=://)\S*@")


@dataclass(frozen=True, slots=True)
class Entry:
    """A setting as a file gives it.

    Attributes:
        key: its name with the sections around it, with dots between them.
        line: where it is, from 1: of its value, or of its name where the value is a section or a list.
        node: the value; None if the file has none.
    """

    key: str
    line: int
    node: Node | None

    @property
    def empty(self) -> bool:
        """There is no value, or null."""
        return self.node is None or self.node.tag == f"{_TAG}null"

    @property
    def shown(self) -> str:
        """The value as an error message shows it: without the password of a URL."""
        if self.empty:
            return "null"
        if not isinstance(self.node, ScalarNode):
            return "a section" if isinstance(self.node, MappingNode) else "a list"
        if self.node.tag in _TYPED:
            return shown(self.node.value).strip("'")
        return shown(_SECRETS.sub("***@", self.node.value))

    def child(self, name: str, node: Node | None, line: int) -> Entry:
        """An entry of this section."""
        return Entry(f"{self.key}.{name}" if self.key else name, line, node)

    def item(self, row: int, node: Node) -> Entry:
        """An item of this list, from 0."""
        return Entry(f"{self.key}[{row}]", line_of(node), node)

    def scalar(self) -> str | bool | int | float:
        """The value of one that is neither a section nor a list.

        Raises:
            ValueError: it is one of these, or has a tag that is not known.
        """
        if isinstance(self.node, ScalarNode) and self.node.tag in _TYPED:
            try:
                value: bool | int | float = SafeConstructor().construct_object(self.node)
            except LookupError:  # a tag that the value does not fit, such as !!bool 5
                raise ValueError("no scalar") from None
            return value
        return self.text()

    def text(self) -> str:
        """The same as it is written, without quotes."""
        if not isinstance(self.node, ScalarNode) or self.node.tag not in _TYPED | _WRITTEN:
            raise ValueError("no text")
        text: str = self.node.value
        return text


def line_of(node: Node) -> int:
    """The line in which a node begins, from 1."""
    line: int = node.start_mark.line
    return line + 1


def root(content: bytes, file: str) -> Entry:
    """What the file holds.

    Raises:
        InvalidConfigError: it is not UTF-8 or not YAML.
    """
    try:
        text = content.decode()
        return Entry("", 1, yaml.compose(text, Loader=yaml.SafeLoader))
    except UnicodeDecodeError as error:
        line, reason = content.count(b"\n", 0, error.start), "not text in UTF-8"
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, reason = mark.line if mark else 0, f"not YAML: {error.problem or error.context}"
    except yaml.reader.ReaderError as error:
        line, reason = text.count("\n", 0, error.position), f"not YAML: the character {chr(error.character)!r}"
    except RecursionError:
        line, reason = 0, "sections in sections, too many to read"
    raise InvalidConfigError(f"{file} line {line + 1}: {reason}")
