"""The log line about each request, and the writer of the decision store.

A request never waits for the store: a thread writes the records twice a
second.  Records wait in memory while the store cannot be written; if there are
too many, the oldest are dropped.
"""

import collections
import contextlib
import os
import threading
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.concurrency import threads
from nova_sched.hosts import decision
from nova_sched.observe import decision_document
from nova_sched.observe import decision_store
from nova_sched.observe import logs

LOG = logging.getLogger(__name__)
#: Logger of the line about a request; the name is documented.
REQUEST_LOG = logging.getLogger('nova_sched.observe.log_line')
#: Logger of warnings about a picked host; Nova's documented name.
HOST_LOG = logging.getLogger('nova_sched.scheduler.host_manager')

#: Most instances named in the line about a request.
MOST_NAMED = 100
#: Most characters of a reason in that line.
LONGEST_REASON = 4000

#: Seconds between two writes.
INTERVAL = 0.5
#: Seconds between two removals of old decisions.
ROOM_INTERVAL = 10
#: Seconds until the next write after a failed one.
RETRY_INTERVAL = 5
#: Most records that wait to be written, and about their bytes.
MOST_WAITING, MOST_BYTES = 2000, 256 << 20
#: Seconds that a stop waits for the last write.
LAST_WRITE = 5

#: Errors of a file that cannot be written.
_FAILURES = (OSError, exception.DatabaseUnavailable)


class Recorder:
    """Logs closed Decisions, counts them, and stores them.

    conf: ConfigOpts with the options of the store; None to store nothing.
    metrics: observe.metrics.Metrics; None for no metrics.
    """

    #: Whether records hold the weights of all hosts.
    records_all_weights = False

    def __init__(self, conf=None, metrics=None):
        self._conf, self._store, self._metrics = conf, None, metrics
        self._waiting, self._lock = collections.deque(), threading.Lock()
        self._size, self._lost = 0, 0
        self._thread, self._stopped = None, threading.Event()
        self._writing, self._room_made = threading.Lock(), 0.0
        self._is_failing = False
        self._read_options()
        #: Generation of the configuration: 1 at the start, one more each
        #: reload.
        self.generation = 1

    def reloaded(self):
        """Count a reload of the configuration, and apply it."""
        self.generation += 1
        self._read_options()

    def start(self):
        """Start the writer thread, in the process that serves."""
        if self._conf is not None:
            self._thread = threads.start('decisions', self._run)

    def _read_options(self):
        # Reading an option takes too long to do it for each request.
        self._is_storing = self._conf is not None and bool(
            self._conf.nova_sched.decisions_max_mb)

    def add(self, record):
        """Log the request of a closed Decision, and queue the record for the
        store.
        """
        log(record)
        if self._metrics is not None:
            self._metrics.note(record)
        if not self._is_storing:
            return
        size = record.size
        if size > decision_document.MOST_REQUEST:
            record.bound_request(decision_document.MOST_REQUEST)
            size = record.size
        with self._lock:
            self._waiting.append(record)
            self._size += size
            self._bound()

    def _bound(self):
        """Drop the oldest waiting records if there are too many."""
        while len(self._waiting) > MOST_WAITING or self._size > MOST_BYTES:
            self._size -= self._waiting.popleft().size
            self._lost += 1

    def stop(self):
        """Write the waiting records, and close the store."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(LAST_WRITE)

    @contextlib.contextmanager
    def reading(self):
        """Open the store with all added records: a context.

        Raises DatabaseUnavailable while it cannot be written or read.
        """
        if not self._writing.acquire(timeout=LAST_WRITE):
            raise exception.DatabaseUnavailable(
                'Another write to the decision store takes too long')
        try:
            failure = self._write()
            if failure is not None:
                raise exception.DatabaseUnavailable(
                    f'The decision store cannot be written: {failure}')
            yield self._open()
        finally:
            self._writing.release()

    def _run(self):
        interval = 0
        while not self._stopped.wait(interval):
            with self._writing:
                failure = self._write()
            interval = INTERVAL if failure is None else RETRY_INTERVAL
        with self._writing:
            self._write()
            self._close()

    def _write(self):
        """Write the waiting records; return the exception that prevented it,
        or None.

        Records that could not be written stay in the queue, within its bounds.
        """
        with self._lock:
            records, self._waiting = self._waiting, collections.deque()
            lost, self._size, self._lost = self._lost, 0, 0
        failure = None
        try:
            if self._is_storing or records:
                store = self._open()
                store.repaired(lambda: self._write_to(store, records))
        except _FAILURES as error:
            failure = error
            with self._lock:
                self._waiting.extendleft(reversed(records))
                self._size += sum(record.size for record in records)
                self._bound()
            if _is_gone(decision_store.path(self._conf)):
                self._close()
        except Exception as error:
            # Later records must be stored all the same.
            failure = error
            if not self._is_failing:
                LOG.exception('%d decision(s) are not stored', len(records))
        self._log_failure(failure, lost)
        return failure

    def _write_to(self, store, records):
        """Write records, a deque, and empty it."""
        options = self._conf.nova_sched
        most_bytes = options.decisions_max_mb << 20
        if records:
            store.bound_log(most_bytes)
            store.add(list(records))
            records.clear()
        now = time.time()
        if abs(now - self._room_made) > ROOM_INTERVAL:
            self._room_made = now
            store.make_room(now - options.decisions_kept, most_bytes)

    def _close(self):
        """Close the store; the next write makes a new file for a removed one.
        """
        if self._store is not None:
            self._store.close()
            self._store = None

    def _open(self):
        """Return the store; it is in memory if there can be no file."""
        if self._store is None:
            try:
                self._store = decision_store.DecisionStore.in_file(self._conf)
            except _FAILURES as error:
                if 'locked' in str(error):
                    raise    # another process writes it for a while
                LOG.warning(
                    'Decisions are kept in memory only, where '
                    '"nova-sched-manage decision" finds them with --service: '
                    '%(path)s cannot be written: %(error)s. [DEFAULT] '
                    'state_path must be a directory that this service may '
                    'write to',
                    {'path': decision_store.path(self._conf), 'error': error})
                self._store = decision_store.DecisionStore.in_memory(
                    self._conf)
        return self._store

    def _log_failure(self, error, lost):
        """Log the first failure of the store, and the end of the failures."""
        if error is not None and not self._is_failing:
            LOG.warning('Decisions cannot be stored; requests are still '
                        'answered: %s', error)
        elif error is None and self._is_failing:
            LOG.info('Decisions are stored again')
        self._is_failing = error is not None
        if lost:
            LOG.debug('%d decision(s) were dropped', lost)


def _is_gone(path):
    """Return whether a file certainly does not exist."""
    try:
        os.stat(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False


def log(record):
    """Log the line at INFO about the request of a closed Decision."""
    age = getattr(record.offer, 'age', None)
    REQUEST_LOG.info(
        'Request for %(count)d instance(s)%(what)s; %(alternates)d '
        'alternate(s), %(hosts)d hosts%(lost)s%(copy)s%(times)s, '
        'seed %(seed)d', {
            'count': record.instances, 'what': _what(record),
            'alternates': record.alternates, 'hosts': record.state.hosts,
            'lost': ''.join(f', without cell {_shown(cell)} ({why})'
                            for cell, why in record.state.lost),
            'copy': '' if age is None else (
                f', candidates from the mirror, {age:.1f} s old'),
            'times': ''.join(f', {name} {ms:.1f} ms' for name, ms
                             in record.milliseconds.items()),
            'seed': record.seed})
    table = record.state.table
    if table is not None and table.cells.unmapped:
        _warn_unmapped(record, table.cells.unmapped)


def _warn_unmapped(record, unmapped):
    """Log the picked hosts of a Decision that have no cell mapping."""
    for host in dict.fromkeys(pick.host for pick in record.picks):
        if host in unmapped:
            HOST_LOG.warning(
                'No host-to-cell mapping found for selected host %(host)s. '
                'nova-conductor does not build there; run nova-manage cell_v2 '
                'discover_hosts', {'host': _shown(host)})


def _what(record):
    """Return the host of each instance, or why it was not placed: text."""
    if record.outcome == decision.PLACED:
        return ' placed: ' + _listed(
            [f'{_shown(pick.instance_uuid or "one")} on {_shown(pick.host)}'
             for pick in record.picks[:MOST_NAMED]], len(record.picks))
    uuids = record.instance_uuids()
    names = list(map(_shown, uuids[:MOST_NAMED]))
    named = f' ({_listed(names, len(uuids))})' if uuids else ''
    reason = _shown(record.reason or '', LONGEST_REASON)
    return f'{named} {record.outcome}: {reason}{_codes(record)}'


def _codes(record):
    """Return the codes of a refusal: text."""
    refusal = record.refusal
    if refusal.code is None:
        return ''
    kind = f', kind {refusal.kind}' if refusal.kind else ''
    hosts = ', '.join(f'{count} {code}' for code, count in refusal.codes)
    return f'; code {refusal.code}{kind}' + (f' ({hosts})' if hosts else '')


def _shown(text, longest=80):
    """Return a text from outside, cut; ``logs`` escapes it."""
    return logs.cut(str(text), longest)


def _listed(texts, count):
    more = count - len(texts)
    return ', '.join(texts) + (f' and {more} more' if more > 0 else '')
