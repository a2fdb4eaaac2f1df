"""Centre of mass."""

from __future__ import annotations

from collections.abc import Sequence

from sot import features
from sot.feature import Value
from sot.gain import Gain
from sot.reference import Reference
from sot.task import FeatureTask, Mask


class CenterOfMass(FeatureTask):
    """Brings the centre of mass to a point: e = c − c*, three rows (m) in the world."""

    kind = "com"

    def __init__(
        self,
        *,
        reference: Reference | Value | None = None,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 5.0,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            reference: A point (3 numbers, m) or a reference. By default the place at the start.
            name: Name in reports and look-ups; by default `com`.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by label: x, y, z; or a boolean per row.
        """
        feature = features.CenterOfMass()
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)
