"""The door to MuJoCo: robots in it, coordinates there and back, and its steps; see `sot.robots.Mujoco`."""
