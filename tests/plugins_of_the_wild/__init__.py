"""Filters and weighers in the shapes of Nova's releases, as files that an
operator would bring along."""
