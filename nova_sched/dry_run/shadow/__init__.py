"""A scheduler that decides a live scheduler's requests, to compare both."""
