"""Health checks, and the document that lists them.

A check has a status, a time, and a text unless it passes.  Form and rules
follow Nova's specification of per-process health checks.
"""

import datetime
import typing

STATUSES = PASS, WARN, FAIL = 'pass', 'warn', 'fail'

#: Version of the document's form.
VERSION = '1.0'

#: Maximum number of characters of a check's text.
LONGEST = 500


class Check(typing.NamedTuple):
    """The latest result of a check.

    at: seconds since the epoch.  output: text, empty if it passes.
    """

    status: str
    at: float
    output: str = ''

    @property
    def rank(self):
        """0 if it passes, 1 if it warns, 2 if it fails."""
        return STATUSES.index(self.status)

    def aged(self, now, ttl):
        """Return the check, as a warning if it is out of date.

        ttl: seconds for which a result counts; 0 for ever.
        """
        if not self.is_old(now, ttl) or self.rank:
            return self
        return self._replace(status=WARN, output=(
            f'it was not checked for {now - self.at:.0f} seconds'))

    def is_old(self, now, ttl):
        """Return whether it is out of date."""
        return bool(ttl) and now - self.at > ttl


def worst(checks):
    """Return the worst of several checks; of equally bad ones, the latest."""
    return max(checks, key=lambda check: (check.rank, check.at))


def status(checks, now, ttl):
    """Return the status of a service with these checks.

    checks: collection of Check.  A service without checks passes, so that a
        service that has just started is not restarted.
    """
    if not checks:
        return PASS
    if all(check.is_old(now, ttl) for check in checks):
        return FAIL
    return worst(check.aged(now, ttl) for check in checks).status


def document(checks, now, ttl, host, service_id=None):
    """Return the health document: a dict.

    checks: name -> Check.  host: of the service, as ``[DEFAULT] host``.
    service_id: of its record, or None if unknown.
    """
    made = {'status': status(checks.values(), now, ttl), 'version': VERSION,
            'description': 'nova-scheduler', 'notes': {'host': host},
            'checks': {name: _entry(check.aged(now, ttl))
                       for name, check in sorted(checks.items())}}
    return made | ({'serviceId': service_id} if service_id else {})


def _entry(check):
    at = datetime.datetime.fromtimestamp(check.at, datetime.UTC)
    entry = {'status': check.status, 'time': at.isoformat(timespec='seconds')}
    return entry | ({'output': check.output[:LONGEST]} if check.rank else {})


def cache_control(status, ttl, seconds):
    """Return the header Cache-Control, or None.

    seconds: as ``[healthcheck] cache_control``: None for the value of ``ttl``,
        0 for no header, -1 for no-cache.  A failing service always has
        no-cache, so that its recovery is seen at once.
    """
    seconds = ttl if seconds is None else seconds
    if not seconds:
        return None
    if seconds < 0 or status == FAIL:
        return 'no-cache'
    return f'max-age={seconds}'
