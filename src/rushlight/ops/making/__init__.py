"""Making tensors: of a size, of data, as copies, and in another element type."""
