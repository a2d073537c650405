"""From a source to clipped integers, with one meaning on all engines."""
