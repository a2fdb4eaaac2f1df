"""Torques in closed form, from a motion and a list of contacts, and contact forces from torques.

    M v̇ + h = Sᵀτ + Jcᵀ y

`differentiators` estimate v̇, `projection` makes it one that the contacts allow, `forces` shares the load among them,
`inverse` puts it together, `balance` reports, `observer` goes the other way.
"""
