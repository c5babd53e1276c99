"""The processes of one daemon: forked, watched, reloaded, stopped."""
