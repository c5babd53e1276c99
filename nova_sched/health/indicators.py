"""The indicators: what a worker knows, as Checks.

A function for each, which returns a Check, or None where nothing is known
yet.  What passes soon is a warning, what lasts a failure.
"""

import time

from nova_sched.health import checks
from nova_sched.health.checks import FAIL
from nova_sched.health.checks import PASS
from nova_sched.health.checks import WARN
from nova_sched.health.checks import Check

#: Seconds after which the trouble of a database, or of the bus, lasts.
LASTING = 10
#: Seconds for which it is told that a queue was gone, or that Placement did
#: not answer, if it is not asked again.
TOLD = 60
#: Seconds without a turn of the loop that takes requests: odd, and too long.
ODD_TURN, LONG_TURN = 10, 20
#: Seconds for which no thread was free.
LONG_BUSY = 30
#: Seconds that a start takes: odd, and too long.
ODD_START, LONG_START = 10, 60
#: Seconds without a read of the hosts.
STALE = 180
#: Hosts that are named.
NAMED = 3


def of_database(contact):
    """Return the Check of a database.

    contact: remote.Contact.
    """
    if not contact.failures:
        return contact.heard and Check(PASS, contact.heard)
    lasts = contact.lasting >= LASTING
    return Check(FAIL if lasts else WARN, contact.noted,
                 f'it does not answer for {contact.lasting:.0f} seconds: '
                 f'{contact.error}')


def of_lost_cell(why, seconds):
    """Return the Check of a cell that answers, and cannot be read.

    why: text.  seconds: since its hosts are left out.
    """
    return Check(FAIL if seconds >= LASTING else WARN, time.time(),
                 f'its hosts are left out for {seconds:.0f} seconds: {why}')


def of_bus(contact):
    """Return the Check of the message bus.

    A lost connection is a warning; it fails once connecting again has.
    """
    if not contact.failures:
        return contact.heard and Check(PASS, contact.heard)
    lasts = contact.failures > 1 or contact.lasting >= LASTING
    return Check(FAIL if lasts else WARN, contact.noted,
                 'the connection is lost for '
                 f'{contact.lasting:.0f} seconds: {contact.error}')


def of_placement(contact):
    """Return the Check of Placement, another service, which only warns.

    Between requests nobody asks it, so that what was heard does not age, and a
    failure that nobody has tried again is not told for long.
    """
    now, found = time.time(), of_database(contact)
    if found is None:
        return None
    if not found.rank:
        return found._replace(at=now)
    return (found._replace(status=WARN) if now - contact.noted < TOLD
            else None)


def of_start(waiting, seconds):
    """Return the Check of a worker that does not take requests yet.

    waiting: for what, text.  seconds: since it has begun to.
    """
    if seconds < ODD_START:
        return None
    return Check(FAIL if seconds >= LONG_START else WARN, time.time(),
                 'no requests are taken: a worker waits for '
                 f'{waiting} for {seconds:.0f} seconds')


def of_consuming(turned, busy, bus, gone_at, is_gone):
    """Return the Check of a worker that takes requests.

    turned: seconds since its loop has looked for some.
    busy: seconds for which no thread has been free.
    bus: Check of the message bus, or None.
    gone_at: when its queue was gone, in seconds since the epoch, or None;
        is_gone: whether it still is.
    """
    now = time.time()
    if bus and bus.rank:
        return Check(WARN, now, 'no requests come while the message bus is '
                     'not there')
    if is_gone:
        return Check(FAIL if now - gone_at >= LASTING else WARN, now,
                     'what requests come by is gone from the broker for '
                     f'{now - gone_at:.0f} seconds, and is being declared '
                     'again')
    if turned >= ODD_TURN:
        return Check(FAIL if turned >= LONG_TURN else WARN, now,
                     'a worker has not looked for requests for '
                     f'{turned:.0f} seconds')
    if busy >= LONG_BUSY:
        return Check(WARN, now, 'requests wait, and all threads of a worker '
                     f'have been busy for {busy:.0f} seconds')
    if gone_at and now - gone_at < TOLD:
        return Check(WARN, now, 'what requests come by was gone from the '
                     f'broker {now - gone_at:.0f} seconds ago, and was '
                     'declared again; requests that were in it are lost')
    return Check(PASS, now)


def of_state_age(ages, stale):
    """Return the Check of how old the state is that is decided on.

    ages: cell -> seconds since it was read.  stale: seconds that are long.
    """
    if not ages:
        return None
    cell, age = max(ages.items(), key=lambda item: item[1])
    if age < stale:
        return Check(PASS, time.time())
    return Check(WARN, time.time(), f'the hosts of {cell} were read '
                 f'{age:.0f} seconds ago')


def of_clock(overview):
    """Return the Check of whether clocks agree.

    overview: scheduler.host_manager.Overview.
    """
    if not overview.ahead:
        return Check(PASS, time.time())
    names = ', '.join(overview.ahead[:NAMED])
    return Check(WARN, time.time(), (
        f'heartbeats of {len(overview.ahead)} compute host(s), such as '
        f'{names}, are up to {overview.by_seconds:.0f} seconds in the future: '
        'the clock of this machine is slow, or theirs are fast'))


def of_mappings(overview):
    """Return the Check of whether nova-conductor finds the hosts; None in a
    cloud without mappings.

    overview: scheduler.host_manager.Overview.
    """
    unmapped = overview.unmapped
    if not unmapped:
        return None if unmapped is None else Check(PASS, time.time())
    return Check(WARN, time.time(), (
        f'no cell mapping leads to {len(unmapped)} compute host(s), such as '
        f'{", ".join(unmapped[:NAMED])}: instances that are placed there are '
        'not built; run nova-manage cell_v2 discover_hosts'))


def of_hosts(overview):
    """Return the Check of whether there is a host to send instances to."""
    if overview.up:
        return Check(PASS, time.time())
    return Check(WARN, time.time(), (
        f'none of {overview.down} compute hosts is up' if overview.down
        else 'there is no compute host'))


def of_workers(wanted, silent, lasts):
    """Return the Check of the workers.

    wanted: how many there are to be.  silent: how many of them say nothing.
    lasts: whether they have done so for long.
    """
    if not silent:
        return Check(PASS, time.time())
    return Check(FAIL if lasts else WARN, time.time(),
                 f'{silent} of {wanted} worker(s) are not there, or hang')


def as_list(found):
    """Return Checks for a report: name -> list; without those not known."""
    return {name: list(check) for name, check in found.items() if check}


def from_list(found):
    """Return what ``as_list`` was made of."""
    return {name: checks.Check(*values) for name, values in found.items()}
