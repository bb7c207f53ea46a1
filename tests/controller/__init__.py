"""kuryr-controllers in a storm."""
