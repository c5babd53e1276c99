"""Threads of this service."""

import threading


def start(name, function, *args):
    """Call a function in a new daemon thread, and return the thread.

    Raises RuntimeError if the system has no further thread.
    """
    thread = threading.Thread(target=function, args=args, name=name,
                              daemon=True)
    thread.start()
    return thread
