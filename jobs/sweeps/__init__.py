"""The sweeps: one file an area, each a thin shell over the domain."""
