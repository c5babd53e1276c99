"""A cloud as a file, and a fake cloud."""
