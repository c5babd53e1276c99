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


def repeat(name, seconds, function, stopped):
    """Call a function periodically in a daemon thread, at once at first.

    stopped: threading.Event that ends the thread.
    """
    def run():
        function()
        while not stopped.wait(seconds):
            function()
    start(name, run)
