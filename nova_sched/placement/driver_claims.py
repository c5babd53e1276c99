"""The claims that a driver of somebody else's makes by Nova's methods."""

import contextlib
import contextvars


class DriverClaims:
    """All claims of one call, for ``releases.give_back``."""

    def __init__(self):
        self._claims = {}

    def of(self, key, make):
        """Return the AllocationClaims of a key, which ``make()`` returns the
        first time.
        """
        return self._claims.get(key) or self._claims.setdefault(key, make())

    def held(self):
        """Return the instances for which Placement may hold a claim: list."""
        return list(dict.fromkeys(
            uuid for claims in self._claims.values()
            for uuid in claims.held()))

    def release(self, instance_uuid):
        """As of AllocationClaims."""
        for claims in self._claims.values():
            claims.release(instance_uuid)

    def release_all(self, instance_uuids):
        """As of AllocationClaims."""
        return [uuid for claims in self._claims.values()
                for uuid in claims.release_all(instance_uuids)]

    def forget(self, instance_uuid):
        """Leave an instance alone, whose allocations somebody has deleted."""
        for claims in self._claims.values():
            claims.forget(instance_uuid)


_current = contextvars.ContextVar('claims of a driver', default=None)


def current():
    """Return the DriverClaims of the call that this thread answers; of nothing
    in a thread that answers none.
    """
    return _current.get() or DriverClaims()


@contextlib.contextmanager
def noted():
    """Note the claims that this thread makes: a context of DriverClaims."""
    claims = DriverClaims()
    token = _current.set(claims)
    try:
        yield claims
    finally:
        _current.reset(token)
