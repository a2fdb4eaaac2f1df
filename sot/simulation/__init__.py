"""A physics engine for floating-base robots on pinocchio's constraint solvers; `sot.robots.Simulated` is its robot."""
