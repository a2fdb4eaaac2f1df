"""The memory of the active-set solver, carved out of two arrays so that a call from Python passes few of them."""

from __future__ import annotations

from collections import namedtuple

from sot.kernels.compiler import kernel

# A problem with n columns and m rows, and the state of its solution (see `sot.problem.Problem`).
Data = namedtuple(
    "Data",
    [
        "AT",  # (n, m) Aᵀ in C order: the rows of one column lie side by side
        "lower",  # (m,)
        "upper",  # (m,)
        "offsets",  # (levels + 1,)
        "strict",  # levels that are strictly ordered
        "x_lower",  # (n,)
        "x_upper",  # (n,)
        "metric",  # (n,)
        "target",  # (n,)
        "x",  # (n,)
        "status",  # (m + n,) of rows, then columns
    ],
)

# Coordinates: x = x₀ + S δ and δ = Q y. Rows are those of the working set, in the order of `active`, then
# passengers.
Work = namedtuple(
    "Work",
    [
        "W",  # (n, m + n) transformed rows: W[j, i] is entry j of row i
        "V",  # (n, n) Householder vectors
        "K",  # (m + n, m + n) system of the last cost
        "G",  # (n, m) a level without full rank
        "beta",  # (n,) factors of the reflectors
        "scale",  # (n,) S
        "origin",  # (n,) x₀
        "y",  # (n,)
        "xs",  # (n,) solution for the working set
        "g",  # (n,) gradients
        "b",  # (m + n,) right-hand sides
        "rho",  # (m + n,) residuals A x − b; δ for passengers
        "multiplier",  # (m + n,)
        "norms",  # (m + n,) squared norms of rows
        "t",  # (m + n,) scratch
        "t2",  # (m + n,) scratch
        "ax",  # (m + n,) A x
        "free",  # (n,) free columns
        "active",  # (m + n,) rows of the working set
        "mark",  # (m + n,) how often a constraint left the working set since x moved
        "left",  # (m + n,) how often it did in this solve
        "kept",  # (m + n,) constraints whose place is decided; scratch elsewhere
        "first_row",  # (levels + 2,) where a level begins in `active`
        "first_pos",  # (levels + 2,) where a level begins in y
    ],
)


def workspace_sizes(n: int, m: int, levels: int) -> tuple[int, int, int]:
    """Lengths of work, iwork and info for a problem of this size."""
    width = m + n
    work = n * width + n * n + width * width + n * m + 6 * n + 7 * width
    return work, n + 4 * width + 2 * levels + 4, 4 + 2 * levels


@kernel
def carve(work, iwork, n, m, levels):
    """Name the parts of the two arrays."""
    width = m + n
    a = n * width
    b = a + n * n
    c = b + width * width
    d = c + n * m
    e = d + 6 * n
    i = n + 4 * width
    return Work(
        work[:a].reshape(n, width),
        work[a:b].reshape(n, n),
        work[b:c].reshape(width, width),
        work[c:d].reshape(n, m),
        work[d : d + n],
        work[d + n : d + 2 * n],
        work[d + 2 * n : d + 3 * n],
        work[d + 3 * n : d + 4 * n],
        work[d + 4 * n : d + 5 * n],
        work[d + 5 * n : e],
        work[e : e + width],
        work[e + width : e + 2 * width],
        work[e + 2 * width : e + 3 * width],
        work[e + 3 * width : e + 4 * width],
        work[e + 4 * width : e + 5 * width],
        work[e + 5 * width : e + 6 * width],
        work[e + 6 * width : e + 7 * width],
        iwork[:n],
        iwork[n : n + width],
        iwork[n + width : n + 2 * width],
        iwork[n + 2 * width : n + 3 * width],
        iwork[n + 3 * width : i],
        iwork[i : i + levels + 2],
        iwork[i + levels + 2 : i + 2 * levels + 4],
    )
