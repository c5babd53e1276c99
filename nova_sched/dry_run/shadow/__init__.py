"""A scheduler that decides beside a live one, to compare the decisions."""
