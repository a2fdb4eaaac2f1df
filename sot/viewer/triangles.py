"""Meshes of triangles made ready for light: which way they face, and their normals."""

from __future__ import annotations

import numpy as np

from sot.sketch import Triangles


def outward(body: Triangles) -> Triangles:
    """The same body with all triangles counter-clockwise seen from outside, as light and shadow need it.

    A body whose triangles agree among each other is left alone. Programs that make convex hulls give them in any
    order; for a convex body, outside is away from the middle.
    """
    directed = np.vstack([body.faces[:, [i, j]] for i, j in ((0, 1), (1, 2), (2, 0))])
    if len(np.unique(directed, axis=0)) == len(directed):
        return body
    corners = body.vertices[body.faces]  # (k, 3, 3)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.sum(normals * (corners[:, 0] - body.vertices.mean(axis=0)), axis=1) < 0.0
    return Triangles(body.vertices, np.where(inward[:, None], body.faces[:, ::-1], body.faces))


def shaded(body: Triangles, crease: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    """Corners of all triangles and a normal for each of them, both of shape (3 k, 3).

    A normal is the sum over the triangles that meet there, which have edges a and b at that corner,

        n = Σ a × b / (|a|² |b|²)

    and is exact for points of a ball. Triangles that are turned against its own by more than `crease`, rad, are left
    out: what is round is shaded round, and edges stay edges. Which way round the others are does not matter.
    """
    from scipy.sparse import csr_array

    faces = np.asarray(body.faces, dtype=int).reshape(-1, 3)
    if not len(faces):
        return np.zeros((0, 3)), np.zeros((0, 3))
    corners = body.vertices[faces]  # (k, 3, 3)
    a, b = (np.roll(corners, shift, axis=1) - corners for shift in (-1, -2))
    across = np.cross(a, b).reshape(-1, 3)
    unit = _unit(across)
    across /= np.maximum(np.sum(a * a, axis=-1) * np.sum(b * b, axis=-1), 1e-30).reshape(-1, 1)
    at = csr_array((np.ones(faces.size), (np.arange(faces.size), faces.ravel())), (faces.size, len(body.vertices)))
    meet = (at @ at.T).tocoo()  # which corners are at the same point
    cosine = np.sum(unit[meet.row] * unit[meet.col], axis=1)
    share = np.where(np.abs(cosine) > np.cos(crease), np.sign(cosine), 0.0)
    return corners.reshape(-1, 3), _unit(csr_array((share, (meet.row, meet.col)), meet.shape) @ across)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-30)
