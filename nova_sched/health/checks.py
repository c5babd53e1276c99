"""Checks: what a process noticed, and what it comes to.

A check has a status, when it was noted, and a text where it is not well.  The
form and the rules are those of Nova's specification of per-process health
checks.
"""

import datetime
import typing

STATUSES = PASS, WARN, FAIL = 'pass', 'warn', 'fail'

#: Of the form of what is told.
VERSION = '1.0'

#: Characters of a text.
LONGEST = 500


class Check(typing.NamedTuple):
    """A check as it was last noted.

    at: seconds since the epoch.  output: text, empty of one that passes.
    """

    status: str
    at: float
    output: str = ''

    @property
    def rank(self):
        """0 for one that passes, 1 to warn, 2 for one that fails."""
        return STATUSES.index(self.status)

    def aged(self, now, ttl):
        """Return what it comes to by now: a Check.

        ttl: seconds that it counts; 0 for ever.
        """
        if not self.is_old(now, ttl) or self.rank:
            return self
        return self._replace(status=WARN, output=(
            f'nothing was noticed of it for {now - self.at:.0f} seconds'))

    def is_old(self, now, ttl):
        """Return whether it is out of date."""
        return bool(ttl) and now - self.at > ttl


def worst(checks):
    """Return the worst of several; of equal ones, the one noted last."""
    return max(checks, key=lambda check: (check.rank, check.at))


def status(checks, now, ttl):
    """Return the status of a service with these checks, as they were noted.

    checks: collection of Check; without any it passes, so that nothing
    restarts a service that has just started.
    """
    if not checks:
        return PASS
    if all(check.is_old(now, ttl) for check in checks):
        return FAIL
    return worst(check.aged(now, ttl) for check in checks).status


def document(checks, now, ttl, host, service_id=None):
    """Return what is told: a dict.

    checks: name -> Check.  host: of the service, as ``[DEFAULT] host``.
    service_id: of its record, where that is known.
    """
    told = {'status': status(checks.values(), now, ttl), 'version': VERSION,
            'description': 'nova-scheduler', 'notes': {'host': host},
            'checks': {name: _told(check.aged(now, ttl))
                       for name, check in sorted(checks.items())}}
    return told | ({'serviceId': service_id} if service_id else {})


def _told(check):
    at = datetime.datetime.fromtimestamp(check.at, datetime.UTC)
    told = {'status': check.status, 'time': at.isoformat(timespec='seconds')}
    return told | ({'output': check.output[:LONGEST]} if check.rank else {})


def cache_control(status, ttl, seconds):
    """Return the header Cache-Control; None for none.

    seconds: as ``[healthcheck] cache_control``: None is as ``ttl``, 0 for no
    header and -1 for no-cache, which a service that fails has in any case, so
    that it is seen at once that it is well again.
    """
    seconds = ttl if seconds is None else seconds
    if not seconds:
        return None
    if seconds < 0 or status == FAIL:
        return 'no-cache'
    return f'max-age={seconds}'
