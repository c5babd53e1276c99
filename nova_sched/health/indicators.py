"""Functions that evaluate a worker's state as Checks.

Each returns a Check, or None while the state is unknown.  A short trouble is
a warning, a lasting trouble a failure.
"""

import time

from nova_sched.health.checks import FAIL
from nova_sched.health.checks import PASS
from nova_sched.health.checks import WARN
from nova_sched.health.checks import Check

#: Seconds after which a failing database or bus is a failure.
LASTING = 10
#: Seconds for which a deleted queue, or a failure of Placement that is not
#: retried, is reported.
REPORTED = 60
#: Seconds without a poll for requests, for a warning and for a failure.
WARN_POLL, FAIL_POLL = 10, 20
#: Seconds without a free thread, for a warning.
WARN_BUSY = 30
#: Seconds that a start takes, for a warning and for a failure.
WARN_START, FAIL_START = 10, 60
#: Seconds without a read of the hosts, for a warning.
STALE = 180
#: Maximum number of host names in a text.
MAX_NAMES = 3


def _lasting(seconds, text):
    """Return a Check of a trouble: a warning, after LASTING a failure."""
    return Check(FAIL if seconds >= LASTING else WARN, time.time(), text)


def _of_contact(contact, is_failure, text):
    """Return the Check of a Contact; None before its first response.

    A failure counts at once, also before the first response.
    is_failure: whether the Check of a failing Contact is a failure; otherwise
        it is a warning.
    """
    if not contact.failures:
        return contact.last_success and Check(PASS, contact.last_success)
    return Check(FAIL if is_failure else WARN, contact.last_failure,
                 f'{text} for {contact.failing_for:.0f} seconds: '
                 f'{contact.error}')


def of_database(contact):
    """Return the Check of a database.

    contact: remote.Contact.
    """
    return _of_contact(contact, contact.failing_for >= LASTING,
                       'it does not answer')


def of_lost_cell(reason, seconds):
    """Return the Check of a cell that answers but cannot be read.

    reason: text.  seconds: time for which its hosts have been left out.
    """
    return _lasting(
        seconds, f'its hosts are left out for {seconds:.0f} seconds: {reason}')


def of_bus(contact):
    """Return the Check of the message bus.

    A lost connection is a warning, a failed reconnection a failure.
    """
    return _of_contact(
        contact, contact.failures > 1 or contact.failing_for >= LASTING,
        'the connection is lost')


def of_placement(contact):
    """Return the Check of Placement, another service: never a failure.

    Placement is queried for requests only.  So an old success still counts,
    and an old failure that was not retried does not.
    """
    now, check = time.time(), of_database(contact)
    if check is None:
        return None
    if not check.rank:
        return check._replace(at=now)
    is_recent = now - contact.last_failure < REPORTED
    return check._replace(status=WARN) if is_recent else None


def of_start(dependency, seconds):
    """Return the Check of a worker that does not take requests yet.

    dependency: text.  seconds: time for which the worker has waited for it.
    """
    if seconds < WARN_START:
        return None
    return Check(FAIL if seconds >= FAIL_START else WARN, time.time(),
                 'no requests are taken: a worker waits for '
                 f'{dependency} for {seconds:.0f} seconds')


def of_consuming(unpolled, busy, bus, gone_at, is_gone):
    """Return the Check of a worker that takes requests.

    unpolled: seconds since its loop last polled for requests.
    busy: seconds for which no thread has been free.
    bus: Check of the message bus, or None.
    gone_at: time when its queue was found deleted, in seconds since the
        epoch, or None.  is_gone: whether the queue is still missing.
    """
    now = time.time()
    if bus and bus.rank:
        return Check(WARN, now, 'no requests come while the message bus is '
                     'disconnected')
    if is_gone:
        return _lasting(now - gone_at, (
            'the request queue or its exchange was deleted at the broker '
            f'{now - gone_at:.0f} seconds ago, and is being declared again'))
    if unpolled >= WARN_POLL:
        return Check(FAIL if unpolled >= FAIL_POLL else WARN, now,
                     'a worker has not polled for requests for '
                     f'{unpolled:.0f} seconds')
    if busy >= WARN_BUSY:
        return Check(WARN, now, 'requests wait, and all threads of a worker '
                     f'have been busy for {busy:.0f} seconds')
    if gone_at and now - gone_at < REPORTED:
        return Check(WARN, now, (
            'the request queue or its exchange was deleted at the broker '
            f'{now - gone_at:.0f} seconds ago, and was declared again; the '
            'requests in the queue are lost'))
    return Check(PASS, now)


def of_state_age(ages, stale):
    """Return the Check of the age of the host table.

    ages: cell -> seconds since its hosts were read.
    stale: age of a warning, in seconds.
    """
    if not ages:
        return None
    cell, age = max(ages.items(), key=lambda item: item[1])
    if age < stale:
        return Check(PASS, time.time())
    return Check(WARN, time.time(), f'the hosts of {cell} were read '
                 f'{age:.0f} seconds ago')


def of_clock(overview):
    """Return the Check of the clocks of this machine and of the hosts.

    overview: scheduler.host_manager.Overview.
    """
    if not overview.ahead:
        return Check(PASS, time.time())
    names = ', '.join(overview.ahead[:MAX_NAMES])
    return Check(WARN, time.time(), (
        f'heartbeats of {len(overview.ahead)} compute host(s), such as '
        f'{names}, are up to {overview.by_seconds:.0f} seconds in the future: '
        'the clock of this machine is slow, or theirs are fast'))


def of_mappings(overview):
    """Return the Check of the host mappings; None in a cloud without them.

    overview: scheduler.host_manager.Overview.
    """
    unmapped = overview.unmapped
    if not unmapped:
        return None if unmapped is None else Check(PASS, time.time())
    return Check(WARN, time.time(), (
        f'{len(unmapped)} compute host(s) have no cell mapping, such as '
        f'{", ".join(unmapped[:MAX_NAMES])}: instances placed there are not '
        'built; run nova-manage cell_v2 discover_hosts'))


def of_hosts(overview):
    """Return the Check of the number of hosts that are up."""
    if overview.up:
        return Check(PASS, time.time())
    return Check(WARN, time.time(), (
        f'none of {overview.down} compute hosts is up' if overview.down
        else 'there is no compute host'))


def of_workers(expected, silent, lasts):
    """Return the Check of the workers.

    expected: configured number of workers.  silent: number of workers that
    send no reports.  lasts: whether they have been silent for long.
    """
    if not silent:
        return Check(PASS, time.time())
    return Check(FAIL if lasts else WARN, time.time(),
                 f'{silent} of {expected} worker(s) are missing, or hang')
