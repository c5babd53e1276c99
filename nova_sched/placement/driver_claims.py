"""The claims that a third-party driver makes by Nova's methods."""

import contextlib
import contextvars


class DriverClaims:
    """All claims of one call, for ``releases.release_claims``."""

    def __init__(self):
        self._claims = {}

    def of(self, key, make):
        """Return the AllocationClaims of a key, made by ``make()`` if missing.
        """
        return self._claims.get(key) or self._claims.setdefault(key, make())

    def held(self):
        """Return the instances for which Placement may hold a claim: list."""
        return list(dict.fromkeys(
            uuid for claims in self._claims.values()
            for uuid in claims.held()))

    def release(self, instance_uuid):
        """Release as AllocationClaims does."""
        for claims in self._claims.values():
            claims.release(instance_uuid)

    def release_all(self, instance_uuids):
        """Release as AllocationClaims does."""
        return [uuid for claims in self._claims.values()
                for uuid in claims.release_all(instance_uuids)]

    def forget(self, instance_uuid):
        """Forget an instance after its allocations were deleted elsewhere."""
        for claims in self._claims.values():
            claims.forget(instance_uuid)


_current = contextvars.ContextVar('claims of a driver', default=None)


def current():
    """Return the DriverClaims of this thread's call, or empty ones."""
    return _current.get() or DriverClaims()


@contextlib.contextmanager
def noted():
    """Record the claims of this thread in a block; yield DriverClaims."""
    claims = DriverClaims()
    token = _current.set(claims)
    try:
        yield claims
    finally:
        _current.reset(token)
