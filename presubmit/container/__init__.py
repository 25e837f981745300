"""Where steps run: a container engine's boxes, or the host behind the same protocol."""
