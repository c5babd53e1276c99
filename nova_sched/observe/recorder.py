"""The records of the requests that this process has ended.

Each has a line in the log, and is kept in the store of decisions.  No request
waits for the store: a thread writes to it now and then.  What comes while it
cannot be written waits, and the oldest of too much is lost.
"""

import collections
import contextlib
import os
import threading
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.hosts import decision
from nova_sched.observe import decision_document
from nova_sched.observe import decision_store
from nova_sched.observe import logs
from nova_sched.observe import store_file

LOG = logging.getLogger(__name__)
#: Of the line about a request: operators know this name.
REQUEST_LOG = logging.getLogger('nova_sched.observe.log_line')
#: Of a host that is selected; Nova's name for it is known to operators, too.
HOST_LOG = logging.getLogger('nova_sched.scheduler.host_manager')

#: Instances that the line about a request names; the others are counted.
MOST_NAMED = 100
#: Characters of a reason in that line.
LONGEST_REASON = 4000

#: Seconds between two writes.
INTERVAL = 0.5
#: Seconds after which what is too old, or too much, makes room.
ROOM_INTERVAL = 10
#: Seconds until the next one after one has failed.
RETRY_INTERVAL = 5
#: Records that wait to be written, at most, and about their bytes.
MOST_WAITING, MOST_BYTES = 2000, 256 << 20
#: Seconds that a stop waits for the last write.
LAST_WRITE = 5

#: How a file fails that cannot be written.
_FAILURES = (OSError, exception.DatabaseUnavailable)


class Recorder:
    """The closed Decisions: a log line of each, and the store.

    conf: ConfigOpts that says where they are kept, and how long; None to keep
        none.
    metrics: observe.metrics.Metrics that count them; None for none.
    """

    #: Whether records are to keep what all hosts weigh.
    keeps_all_weights = False

    def __init__(self, conf=None, metrics=None):
        self._conf, self._store, self._metrics = conf, None, metrics
        self._waiting, self._lock = collections.deque(), threading.Lock()
        self._size, self._lost = 0, 0
        self._thread, self._stopped = None, threading.Event()
        self._writing, self._room_made = threading.Lock(), 0.0
        self._is_failing = False
        self._look_whether_to_keep()
        #: Of the configuration: 1 at the start, one more each reload.
        self.generation = 1

    def reloaded(self):
        """Count one more reload of the configuration."""
        self.generation += 1
        self._look_whether_to_keep()

    def start(self):
        """Begin to write, in the process that serves."""
        if self._conf is not None:
            self._thread = threading.Thread(
                target=self._write_on, name='decisions', daemon=True)
            self._thread.start()

    def _look_whether_to_keep(self):
        # Not with each request: an option is not read for nothing.
        self._keeps = self._conf is not None and bool(
            self._conf.nova_sched.decisions_max_mb)

    def add(self, record):
        """Log a request that has ended, and have its record kept."""
        log(record)
        if self._metrics is not None:
            self._metrics.note(record)
        if not self._keeps:
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
        """Lose the oldest of what waits where it is too much."""
        while len(self._waiting) > MOST_WAITING or self._size > MOST_BYTES:
            self._size -= self._waiting.popleft().size
            self._lost += 1

    def stop(self):
        """Write what is there, and let go of the store."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(LAST_WRITE)

    @contextlib.contextmanager
    def reading(self):
        """Open the store with all that has been added: a context.

        Raises DatabaseUnavailable while it cannot be written or read.
        """
        if not self._writing.acquire(timeout=LAST_WRITE):
            raise exception.DatabaseUnavailable(
                'The store of decisions is being written to for long')
        try:
            failure = self._write()
            if failure is not None:
                raise exception.DatabaseUnavailable(
                    f'The store of decisions cannot be written: {failure}')
            yield self._opened()
        finally:
            self._writing.release()

    def _write_on(self):
        interval = 0
        while not self._stopped.wait(interval):
            with self._writing:
                failure = self._write()
            interval = INTERVAL if failure is None else RETRY_INTERVAL
        with self._writing:
            self._write()
            if self._store is not None:
                self._store.close()

    def _write(self):
        """Write what waits; return why that failed, an exception, or None.

        What could not be written waits on, within bounds.
        """
        with self._lock:
            records, self._waiting = self._waiting, collections.deque()
            lost, self._size, self._lost = self._lost, 0, 0
        failure = None
        try:
            if self._keeps or records:
                self._write_in_file(records)
        except _FAILURES as error:
            failure = error
            with self._lock:
                self._waiting.extendleft(reversed(records))
                self._size += sum(record.size for record in records)
                self._bound()
            if _is_gone(decision_store.path(self._conf)):
                self._let_go()
        except Exception as error:
            # The next ones are to be kept all the same.
            failure = error
            if not self._is_failing:
                LOG.exception('%d decision(s) are not kept', len(records))
        self._tell(failure, lost)
        return failure

    def _write_in_file(self, records):
        """Write records as of ``_write_to``, in a new file for a damaged one.
        """
        store = self._opened()
        try:
            return self._write_to(store, records)
        except exception.DatabaseUnavailable as error:
            if not store_file.is_damaged(error):
                raise
            damage = error
        store.begin_anew(damage)
        return self._write_to(store, records)

    def _write_to(self, store, records):
        """Write records, a deque, which is empty once they are there."""
        bounds = self._conf.nova_sched
        most_bytes = bounds.decisions_max_mb << 20
        if records:
            store.bound_log(most_bytes)
            store.add(list(records))
            records.clear()
        now = time.time()
        if abs(now - self._room_made) > ROOM_INTERVAL:
            self._room_made = now
            store.make_room(now - bounds.decisions_kept, most_bytes)

    def _let_go(self):
        """Begin with a new file: somebody has removed it."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _opened(self):
        """Return the store; in memory where there can be no file."""
        if self._store is None:
            try:
                self._store = decision_store.DecisionStore.in_file(self._conf)
            except _FAILURES as error:
                if store_file.is_locked(error):
                    raise    # that ends
                LOG.warning(
                    'Decisions are kept in memory alone, where '
                    '"nova-sched-manage decision" finds them with --service: '
                    '%(path)s cannot be written: %(error)s. [DEFAULT] '
                    'state_path must be a directory that this service may '
                    'write to',
                    {'path': decision_store.path(self._conf), 'error': error})
                self._store = decision_store.DecisionStore.in_memory(
                    self._conf)
        return self._store

    def _tell(self, error, lost):
        """Log, once, that decisions are not kept, and that they are again."""
        if error is not None and not self._is_failing:
            LOG.warning('Decisions are not kept until the store can be '
                        'written again, requests are answered all the same: '
                        '%s', error)
        elif error is None and self._is_failing:
            LOG.info('Decisions are kept again')
        self._is_failing = error is not None
        if lost:
            LOG.debug('%d decision(s) are not kept', lost)


def _is_gone(path):
    """Return whether there is certainly no such file."""
    try:
        os.stat(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False


def log(record):
    """Log the one line at INFO about a request: a closed Decision."""
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
                f', candidates from a copy {age:.1f} s old'),
            'times': ''.join(f', {name} {ms:.1f} ms' for name, ms
                             in record.milliseconds.items()),
            'seed': record.seed})
    table = record.state.table
    if table is not None and table.cells.unmapped:
        _warn_unmapped(record, table.cells.unmapped)


def _warn_unmapped(record, unmapped):
    """Log the picked hosts of a Decision that are among the unmapped ones."""
    for host in dict.fromkeys(pick.host for pick in record.picks):
        if host in unmapped:
            HOST_LOG.warning(
                'No host-to-cell mapping found for selected host %(host)s. '
                'nova-conductor does not build there; run nova-manage cell_v2 '
                'discover_hosts', {'host': _shown(host)})


def _what(record):
    """Return where each instance is, or why it was not placed: text."""
    if record.outcome == decision.PLACED:
        return ' placed: ' + _listed(
            [f'{_shown(pick.instance_uuid or "one")} on {_shown(pick.host)}'
             for pick in record.picks[:MOST_NAMED]], len(record.picks))
    asked = record.asked_uuids()
    names = list(map(_shown, asked[:MOST_NAMED]))
    named = f' ({_listed(names, len(asked))})' if asked else ''
    reason = _shown(record.reason or '', LONGEST_REASON)
    return f'{named} {record.outcome}: {reason}{_codes(record)}'


def _codes(record):
    """Return by which codes a request was not placed: text."""
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
