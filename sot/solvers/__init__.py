"""Three meanings of one stack: `nullspace`, `hierarchical`, `weighted`."""
