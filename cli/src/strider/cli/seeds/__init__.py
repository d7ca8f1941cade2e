"""Read seeds from arguments, files and pipes, and publish them."""
