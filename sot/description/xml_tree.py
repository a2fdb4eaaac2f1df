"""XML elements that remember their lines: the ground on which robot descriptions are checked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from sot.errors import ModelError


@dataclass(eq=False)
class Element:
    """One XML element."""

    tag: str
    attributes: dict[str, str]
    source: str
    line: int
    children: list[Element] = field(default_factory=list)

    def error(self, message: str) -> ModelError:
        """The error to raise about this element: place first, then what is wrong."""
        return ModelError(f"{self.source}:{self.line}: {self.label}: {message}")

    @property
    def label(self) -> str:
        """What messages call this element."""
        name = self.attributes.get("name")
        return f"{self.tag} '{name}'" if name else f"<{self.tag}>"

    def all(self, tag: str) -> list[Element]:
        """Direct children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        """First direct child with a tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def walk(self) -> Iterator[Element]:
        """This element and everything below it."""
        pending = [self]
        while pending:
            element = pending.pop()
            yield element
            pending.extend(reversed(element.children))

    def text(self, attribute: str) -> str:
        """An attribute that must be there and not empty."""
        value = self.attributes.get(attribute, "").strip()
        if not value:
            raise self.error(f"the attribute '{attribute}' is missing or empty")
        return value

    def numbers(self, attribute: str, size: int | None = None, infinite: bool = False) -> list[float] | None:
        """An attribute as numbers, None if it is not there; not finite ones only where allowed, NaN never."""
        if attribute not in self.attributes:
            return None
        text = self.attributes[attribute]
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            raise self.error(f"{attribute}={text!r} is not a list of numbers") from None
        if size is not None and len(values) != size:
            raise self.error(f"{attribute}={text!r} has {len(values)} numbers, expected {size}")
        if not all(abs(value) <= (math.inf if infinite else 1e300) for value in values):
            raise self.error(f"{attribute}={text!r} is not finite")
        return values

    def number(self, attribute: str, default: float, infinite: bool = False) -> float:
        """An attribute as one number."""
        values = self.numbers(attribute, 1, infinite)
        return default if values is None else values[0]


def read_xml(path: Path, kind: str) -> Element:
    """Root element of an XML file. `kind` says what the file should be: 'URDF', 'SRDF' or 'MJCF'."""
    source = str(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{source}: no such {kind} file") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{source}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not data.strip():
        raise ModelError(f"{source}: the {kind} file is empty")
    return _Builder(source, kind).parse(data)


class _Builder:
    """Collects what the XML parser reports. Entities are refused: a few of them can stand for gigabytes."""

    def __init__(self, source: str, kind: str) -> None:
        self.source, self.kind = source, kind
        self.root: Element | None = None
        self.open: list[Element] = []
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = lambda tag: self.open.pop()
        self.parser.EntityDeclHandler = self._entity

    def parse(self, data: bytes) -> Element:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            place = f"{self.source}:{error.lineno}"
            raise ModelError(f"{place}: is not XML ({reason}); expected {self.kind}") from None
        except (ValueError, LookupError) as error:
            raise ModelError(f"{self.source}: is not XML that can be read: {error}") from None
        assert self.root is not None  # a well-formed document has a root
        return self.root

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.source, self.parser.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def _entity(self, name: str, *_: object) -> NoReturn:
        place = f"{self.source}:{self.parser.CurrentLineNumber}"
        raise ModelError(f"{place}: XML entities ('{name}') are not supported")
