"""Collada meshes in a form that the browser shows complete: all their parts, with colours and pictures.

The browser merges the geometries of a file into one. It loses all of them if some have coordinates of a picture and
some have not, and it loses those that have more than one material.
"""

from __future__ import annotations

import base64
import copy
import xml.etree.ElementTree as ET
from pathlib import Path

NAMESPACE = "http://www.collada.org/2005/11/COLLADASchema"
SURFACES = ("polygons", "polylist", "triangles", "trifans", "tristrips")
PRIMITIVES = ("lines", "linestrips", *SURFACES)
PICTURES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg"}


def read(path: Path) -> tuple[str, dict[str, str]]:
    """A file's text, and the pictures that it refers to: name in the file → data URI."""
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        root = ET.fromstring(text.encode())
    except ET.ParseError:
        return text, {}  # the browser may still make something of it
    pictures = _pictures(root, path.parent)
    if len(list(root.iter(_tag("instance_geometry")))) < 2:
        return text, pictures  # nothing to merge
    changed = _picture_coordinates_for_all(root)
    changed |= _one_material_each(root)
    return _text(root) if changed else text, pictures


def _pictures(root: ET.Element, folder: Path) -> dict[str, str]:
    found = {}
    for name in (element.text for element in root.iter(_tag("init_from")) if element.text):
        file = folder / name
        if file.suffix.lower() in PICTURES and file.is_file():
            data = base64.b64encode(file.read_bytes()).decode()
            found[name] = f"data:image/{PICTURES[file.suffix.lower()]};base64,{data}"
    return found


def _picture_coordinates_for_all(root: ET.Element) -> bool:
    """If some surfaces have coordinates of a picture, give the others some, all zero; True if there was a need."""
    surfaces = [(mesh, part) for mesh in root.iter(_tag("mesh")) for part in mesh if part.tag in map(_tag, SURFACES)]
    without = [(mesh, part) for mesh, part in surfaces if _input(part, "TEXCOORD") is None]
    if len(without) in (0, len(surfaces)):
        return False
    for k, (mesh, part) in enumerate(without):
        vertex = _input(part, "VERTEX")
        if vertex is not None:
            mesh.insert(0, _zeros(f"no-picture-{k}", _vertex_count(mesh)))
            offset = vertex.get("offset", "0")
            ET.SubElement(part, _tag("input"), semantic="TEXCOORD", source=f"#no-picture-{k}", offset=offset)
    return True


def _vertex_count(mesh: ET.Element) -> int:
    return max((int(accessor.get("count", "0")) for accessor in mesh.iter(_tag("accessor"))), default=0)


def _zeros(name: str, count: int) -> ET.Element:
    """A source of `count` pairs of zeros."""
    source = ET.Element(_tag("source"), id=name)
    numbers = ET.SubElement(source, _tag("float_array"), id=f"{name}-array", count=str(2 * count))
    numbers.text = "0 0 " * count
    technique = ET.SubElement(source, _tag("technique_common"))
    accessor = ET.SubElement(technique, _tag("accessor"), source=f"#{name}-array", count=str(count), stride="2")
    for axis in "ST":
        ET.SubElement(accessor, _tag("param"), name=axis, type="float")
    return source


def _input(part: ET.Element, semantic: str) -> ET.Element | None:
    return next((item for item in part.findall(_tag("input")) if item.get("semantic") == semantic), None)


def _one_material_each(root: ET.Element) -> bool:
    """Split every geometry of several materials into one per material; True if there was one."""
    split: dict[str, list[str]] = {}
    for library in root.iter(_tag("library_geometries")):
        for geometry in list(library):
            split[f"#{geometry.get('id')}"] = [f"#{part.get('id')}" for part in _split(library, geometry)]
    for node in root.iter(_tag("node")):
        for instance in node.findall(_tag("instance_geometry")):
            for part in split.get(instance.get("url", ""), [])[1:]:
                twin = copy.deepcopy(instance)
                twin.set("url", part)
                node.append(twin)
    return any(len(parts) > 1 for parts in split.values())


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


def _text(root: ET.Element) -> str:
    ET.register_namespace("", NAMESPACE)
    return ET.tostring(root, encoding="unicode")


def _tag(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"
