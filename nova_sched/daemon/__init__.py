"""The processes of one daemon: start, supervision, reload and stop."""
