"""The one line about a request in the log at INFO."""

from oslo_log import log as logging

from nova_sched.hosts import decision

LOG = logging.getLogger(__name__)

#: Instances that are named in a line; the others are counted.
SHOWN = 100


def write(record):
    """Write the line of a request that has ended: a closed Decision."""
    LOG.info('%(outcome)s %(count)d instance(s)%(what)s; %(alternates)d '
             'alternate(s), %(hosts)d hosts%(times)s, seed %(seed)d', {
                 'outcome': record.outcome.capitalize(),
                 'count': record.instances, 'what': _what(record),
                 'alternates': record.alternates, 'hosts': record.hosts,
                 'times': ''.join(f', {name} {ms:.1f} ms' for name, ms
                                  in record.milliseconds.items()),
                 'seed': record.seed})


def _what(record):
    """Which instance is where, or which was not placed, and why: text."""
    if record.outcome == decision.PLACED:
        return ': ' + _listed([f'{pick.instance_uuid or "one"} on {pick.host}'
                               for pick in record.picks[:SHOWN]],
                              len(record.picks))
    asked = record.asked_uuids()
    named = f' ({_listed(asked[:SHOWN], len(asked))})' if asked else ''
    return f'{named}: {record.reason}'


def _listed(texts, count):
    more = count - len(texts)
    return ', '.join(texts) + (f' and {more} more' if more > 0 else '')
