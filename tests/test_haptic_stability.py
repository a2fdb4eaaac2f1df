"""Walls on the haptic device: what keeps them calm, and what happens without it (H3–H7, H9, H10).

The stylus has 0.1 kg and 1 N·s/m, hands at least 1 N·s/m: with less the last swings take longer than 2 s to die out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from record_periods import recorded
from stylus import PLAIN, T, push, swing, touch

from sot.haptic import Device, Hand, bounds
from sot.haptic.passivity import Passivity
from sot.robots import Haptic

CALM, BUZZ = 5e-5, 5e-4  # m
FREE = {**PLAIN, "force_limit": 1e6}  # whose axes know nothing of each other
AT = -0.02  # m, where hands pull to


def held(device: Device, k: float = 300.0, c: float = 1.0, **options) -> Haptic:
    """A device whose hand pulls all axes into their walls, to places that differ by parts of a quantum."""
    return Haptic(device, hand=Hand([AT, AT - 0.00013, AT + 0.00037], stiffness=k, damping=c), **options)


def gained(haptic: Haptic, K: float, seconds: float) -> np.ndarray:
    """Energy that came out of each contact beyond what went in, J: what the motor did, less what the device lost.

    A contact begins with the last sample outside, since the wall begins somewhere after it.
    """
    balances, outside, inside = [], 0.0, False
    for _ in range(round(seconds / haptic.dt)):
        q, works = haptic.read().q[0], haptic.works
        touched, balance = q < 0.0, works.motor - works.lost
        if inside and not touched and not haptic.plant.force.any() and not haptic.plant.pending().any():
            balances.append(balance - outside)
            inside = False
        inside |= touched
        if not inside:
            outside = balance
        haptic.write(push(max(-K * q, 0.0), 0.0, 0.0))
    assert balances
    return np.array(balances)


def tapping(device: Device, **options) -> Haptic:
    """A hand that goes in and out of a wall at 3 Hz."""
    hand = Hand(lambda t: [0.01 * np.sin(6.0 * np.pi * t), 0.0, 0.0], stiffness=300.0, damping=3.0)
    return Haptic(device, hand=hand, **options)


@pytest.mark.parametrize(("late", "quantum"), [(0.0, 0.0), (0.4, 0.0), (2.0, 1e-5), (5.0, 5e-5)])
def test_returned_work_stays_below_what_was_put_in(late, quantum):
    """H3: passive settings, and those that the passivity controller makes so, gain less than 1 mJ in any contact.

    With exact encoders passive settings gain nothing at all.
    """
    device = Device(**{**FREE, "quantum": quantum, "delay": late * T})
    limit = bounds.passive_stiffness(1.0, 0.0, T, device.delay)
    passive = gained(tapping(device), 0.99 * limit, 1.5)
    assert passive.max() < (0.0 if quantum == 0.0 else 5e-5), passive
    controlled = gained(tapping(replace(device, passivity=True)), 5.0 * limit, 1.5)
    assert controlled.max() < 2e-4, controlled
    assert gained(tapping(device), 20.0 * limit, 1.0).max() > 2e-3


@pytest.mark.parametrize("late", [0.0, 0.5, 1.0, 2.0, 5.0])
def test_the_passivity_controller_calms_late_and_coarse_walls(late):
    """H4 with H5 and H6: five times the limit, hands without any damping of their own too."""
    device = Device(**{**FREE, "delay": late * T, "passivity": True})
    K = 5.0 * bounds.stable_stiffness(1.0, 0.0, T, device.delay)
    for quantum, c in ((1e-6, 1.0), (1e-5, 0.0), (5e-5, 0.0)):
        haptic = held(replace(device, quantum=quantum), 100.0, c)
        assert swing(touch(haptic, [K, 0.0, 0.0], 0.0, 1.5))[0] < CALM, quantum
    without = held(replace(device, passivity=False), 100.0, 1.0)
    assert swing(touch(without, [K, 0.0, 0.0], 0.0, 1.0))[0] > BUZZ


def test_the_passivity_controller_has_to_know_the_quantum():
    """H4, H5: an observer that takes rounded positions for true ones does not see what swings by some quanta."""
    device = Device(**{**FREE, "delay": T, "quantum": 5e-5, "passivity": True})
    haptic = held(device, 100.0, 0.0)
    haptic._passivity = Passivity(replace(device, quantum=0.0), 3, T)
    K = 5.0 * bounds.stable_stiffness(1.0, 0.0, T, T)
    assert swing(touch(haptic, [K, 0.0, 0.0], 0.0, 2.0))[0] > 4.0 * CALM


def test_a_force_that_is_cut_off_is_no_energy_made():
    """H4: a hand pushes 9 mm into a wall that gives no more than 2 N; the observer must not take that for a debt."""
    device = Device(**{**FREE, "passivity": True, "force_limit": 2.0})
    haptic = Haptic(device, hand=Hand([-0.01, 0.0, 0.0], stiffness=2000.0, damping=20.0))
    touch(haptic, [3000.0, 0.0, 0.0], 0.0, 0.1)
    assert haptic.plant.x[0] == pytest.approx(-0.009, abs=1e-4)
    assert haptic.counters.clamped > 100 and haptic.energy.debt == 0.0 and haptic.energy.taken < 1e-4
    haptic.write(push(1e300, 0.0, 0.0))
    assert np.isfinite(haptic.energy.made)


@pytest.mark.parametrize("quantum", [1e-6, 1e-5, 5e-5])
def test_coarse_encoders_leave_less_than_a_quantum(quantum):
    """H5: below the bound what is left is a limit cycle of half a quantum, and 1 µm of a swing that dies out."""
    device = Device(**{**FREE, "quantum": quantum})
    limit = bounds.passive_stiffness(1.0, 0.0, T)
    assert swing(touch(held(device), [0.5 * limit, 0.9 * limit, 0.99 * limit], 0.0, 2.0)).max() < 0.5 * quantum + 1e-6
    assert swing(touch(held(device), [3.0 * limit, 4.0 * limit, 5.0 * limit], 0.0, 0.8)).min() > BUZZ


@pytest.mark.parametrize("late", [0.5, 1.0, 2.3, 5.0])
def test_the_bound_knows_the_delay(late):
    """H6: below the bound of that delay all is calm; the bound without it is too high."""
    device = Device(**{**FREE, "delay": late * T})
    limit, blind = (bounds.passive_stiffness(1.0, 0.0, T, delay) for delay in (late * T, 0.0))
    assert swing(touch(held(device), [0.5 * limit, 0.9 * limit, 0.99 * limit], 0.0, 2.0)).max() < 0.1 * CALM
    assert swing(touch(held(device), [blind, blind, blind], 0.0, 1.2)).min() > BUZZ


def test_periods_of_a_recorded_loop():
    """H7: the bound takes the longest period. A wall within the bound of the nominal one gives out energy.

    At five times that the passivity controller keeps it calm.
    """
    periods = recorded()
    device = Device(**{**FREE, "quantum": 1e-6})
    limit, nominal = (bounds.passive_stiffness(1.0, 0.0, period) for period in (periods.max(), T))
    assert swing(touch(held(device, periods=periods), [0.5 * limit, 0.9 * limit, 0.99 * limit], 0.0, 2.0)).max() < CALM
    assert gained(tapping(device, periods=periods), 0.99 * limit, 1.5).max() < 1e-6
    assert gained(tapping(device, periods=periods), 0.99 * nominal, 1.5).max() > 1e-4
    calm, loud = (
        swing(touch(held(replace(device, passivity=on), periods=periods), [5.0 * nominal, 0, 0], 0.0, 1.5))[0]
        for on in (True, False)
    )
    assert calm < CALM and loud > BUZZ


@pytest.mark.parametrize("k", [100.0, 300.0, 1000.0])
@pytest.mark.parametrize("c", [1.0, 5.0, 20.0])
def test_no_hand_makes_a_passive_wall_swing(k, c):
    """H9: springs alone and with a damper; a hand that is light or has 50 g. Past the bound only firm hands hold on."""
    for B, mass in ((0.0, 0.0), (0.5, 0.05)):
        device = Device(**FREE)
        limit = bounds.passive_stiffness(1.0, B, T)
        haptic = Haptic(device, hand=Hand([AT] * 3, stiffness=k, damping=c, mass=mass))
        assert swing(touch(haptic, [0.3 * limit, 0.9 * limit, 0.99 * limit], B, 1.5 if c == 1.0 else 0.9)).max() < CALM
    if c == 1.0:
        haptic = held(Device(**FREE), k, c)
        assert swing(touch(haptic, [20.0 * limit, 30.0 * limit, 40.0 * limit], 0.0, 0.8)).min() > BUZZ


@pytest.mark.parametrize("late", [0.0, 2.0])
@pytest.mark.parametrize("quantum", [1e-6, 2e-5])
def test_a_hand_that_lets_go_inside_walls(late, quantum):
    """H10, row 44: the speed stays below its limit, whatever the wall and the hand; without a limit it does not.

    Walls that are past the bound have the passivity controller.
    """
    for K, k in ((500.0, 300.0), (2000.0, 300.0), (2000.0, 1000.0), (6000.0, 1000.0)):
        fastest = []
        for limit in (0.2, 100.0):
            options = {"quantum": quantum, "delay": late * T, "speed_limit": limit}
            device = Device(**{**FREE, **options, "passivity": K > bounds.passive_stiffness(1.0, 0.0, T, late * T)})
            haptic = Haptic(device, hand=Hand([-0.03, 0.0, 0.0], stiffness=k, damping=8.0, release=0.3))
            places = touch(haptic, [K, 0.0, 0.0], 0.0, 0.5)[:, 0]
            fastest.append(np.diff(places)[round(0.3 / T) :].max() / T)
        assert fastest[0] <= 0.2 < 0.4 < fastest[1], (K, k, fastest)
