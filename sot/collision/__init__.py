"""Collisions: bodies of a robot and around it, which pairs to watch, and how far apart they are."""
