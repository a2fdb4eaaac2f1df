"""Collada meshes in a form that the browser shows complete: with their colours and pictures."""

from __future__ import annotations

import base64
import copy
import xml.etree.ElementTree as ET
from pathlib import Path

NAMESPACE = "http://www.collada.org/2005/11/COLLADASchema"
PRIMITIVES = ("lines", "linestrips", "polygons", "polylist", "triangles", "trifans", "tristrips")
PICTURES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg"}


def read(path: Path) -> tuple[str, dict[str, str]]:
    """A file's text, and the pictures that it refers to: name in the file → data URI."""
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        root = ET.fromstring(text.encode())
    except ET.ParseError:
        return text, {}  # the browser may still make something of it
    pictures = _pictures(root, path.parent)
    return _one_material_each(root) or text, pictures


def _pictures(root: ET.Element, folder: Path) -> dict[str, str]:
    found = {}
    for name in (element.text for element in root.iter(_tag("init_from")) if element.text):
        file = folder / name
        if file.suffix.lower() in PICTURES and file.is_file():
            data = base64.b64encode(file.read_bytes()).decode()
            found[name] = f"data:image/{PICTURES[file.suffix.lower()]};base64,{data}"
    return found


def _one_material_each(root: ET.Element) -> str | None:
    """The text with every geometry of several materials split into one per material; None if nothing is to do.

    The browser merges all geometries of a file, and in doing so loses those that have more than one material.
    """
    split: dict[str, list[str]] = {}
    for library in root.iter(_tag("library_geometries")):
        for geometry in list(library):
            split[f"#{geometry.get('id')}"] = [f"#{part.get('id')}" for part in _split(library, geometry)]
    if all(len(parts) == 1 for parts in split.values()) or len(list(root.iter(_tag("instance_geometry")))) < 2:
        return None
    for node in root.iter(_tag("node")):
        for instance in node.findall(_tag("instance_geometry")):
            for part in split.get(instance.get("url", ""), [])[1:]:
                twin = copy.deepcopy(instance)
                twin.set("url", part)
                node.append(twin)
    ET.register_namespace("", NAMESPACE)
    return ET.tostring(root, encoding="unicode")


def _split(library: ET.Element, geometry: ET.Element) -> list[ET.Element]:
    """Leave a geometry its first primitive; every other one moves to a copy."""
    mesh = geometry.find(_tag("mesh"))
    primitives = [] if mesh is None else [p for p in mesh if p.tag in map(_tag, PRIMITIVES)]
    parts = [geometry]
    for k in range(1, len(primitives)):
        part = copy.deepcopy(geometry)
        part.set("id", f"{geometry.get('id')}-part{k}")
        _keep(part, k)
        library.append(part)
        parts.append(part)
    if len(primitives) > 1:
        _keep(geometry, 0)
    return parts


def _keep(geometry: ET.Element, index: int) -> None:
    """Drop all primitives but one."""
    mesh = geometry.find(_tag("mesh"))
    if mesh is not None:
        primitives = [p for p in mesh if p.tag in map(_tag, PRIMITIVES)]
        for k, primitive in enumerate(primitives):
            if k != index:
                mesh.remove(primitive)


def _tag(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"
