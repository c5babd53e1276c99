"""Deciding beside a live scheduler, to see whether both choose alike."""
