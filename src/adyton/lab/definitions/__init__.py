"""What privacy means, tried on all small tables and all outputs."""
