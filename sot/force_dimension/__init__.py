"""Devices by Force Dimension: the door to the vendor's C library, looked for when a device is opened."""
