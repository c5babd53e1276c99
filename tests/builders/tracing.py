"""The functions of the package that a block calls in this thread."""

import contextlib
import sys


class Calls:
    """The calls of this thread within ``recording``.

    made: list of (caller, callee), each (module, qualified name); the caller
        is the nearest frame of the package, None for the outermost call.
    """

    def __init__(self):
        self.made = []

    @contextlib.contextmanager
    def recording(self):
        """Record the calls of the block."""
        before = sys.getprofile()
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(before)

    @property
    def modules(self):
        """Names of the modules that were entered: set."""
        return {callee[0] for _, callee in self.made}

    def _profile(self, frame, event, arg):
        callee = _name(frame) if event == 'call' else None
        if callee is None:
            return
        caller, above = None, frame.f_back
        while above is not None and caller is None:
            caller, above = _name(above), above.f_back
        self.made.append((caller, callee))


def _name(frame):
    """(module, qualified name) of a frame of the package, else None."""
    module = frame.f_globals.get('__name__', '')
    if not module.startswith('nova_sched.'):
        return None
    return module, frame.f_code.co_qualname


def recorded(driver, monkeypatch):
    """The Calls of a driver's select_destinations, from now on."""
    calls, select = Calls(), driver.select_destinations

    def selecting(*args, **kwargs):
        with calls.recording():
            return select(*args, **kwargs)
    monkeypatch.setattr(driver, 'select_destinations', selecting)
    return calls
