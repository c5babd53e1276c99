"""The records of the requests that this process has ended.

Of what was weighed they keep the best hosts.  They are bounded in bytes: when
there are more, the oldest give up what Placement offered, when none has that
the rows of rejected hosts; at last the oldest are forgotten.
"""

import collections
import threading

from nova_sched.hosts import decision
from nova_sched.hosts import labels
from nova_sched.observe import log_line

#: A record that takes more than one in so many bytes keeps no request.
_SHARE = 8

#: Bytes of one name in the two columns that the rows of records are of.
_PER_NAME = 4


class Recorder:
    """The closed Decisions that are kept, and the log line of each.

    memory: bytes that the records may take.
    """

    def __init__(self, memory):
        self._memory, self._lock = memory, threading.Lock()
        self._records = collections.deque()
        # How a record gives something up -> those that still can, oldest
        # first; in the order in which it is missed least.
        self._with = {give_up: collections.deque() for give_up in (
            decision.Decision.forget_offer,
            decision.Decision.forget_rejected)}
        self._sizes, self._names = {}, collections.Counter()
        # Columns of names as the last record had them -> as they are kept.
        self._last_names = ((), ())
        #: About how many bytes the records take.
        self.size = 0
        #: Of the configuration: 1 at the start, one more each reload.
        self.generation = 1

    @property
    def decisions(self):
        """The records there are, oldest first: list of Decision."""
        with self._lock:
            return list(self._records)

    def reloaded(self):
        """Count one more reload of the configuration."""
        self.generation += 1

    def add(self, record):
        """Keep the record of a request that has ended, and log it."""
        log_line.write(record)
        record.forget_weights()
        record.pack()
        size = record.size()
        if size > self._memory // _SHARE:
            # One huge call must not cost the records of all others.
            record.forget_request()
            size = record.size()
        with self._lock:
            record.names = self._kept_names(record.names)
            for kept in (self._records, *self._with.values()):
                kept.append(record)
            self._sizes[id(record)] = size
            self.size += size + self._count_names(record, 1)
            while self.size > self._memory and self._records:
                self._shrink()

    def _shrink(self):
        """Drop the least useful part of what is kept."""
        for give_up, records in self._with.items():
            if records:
                record = records.popleft()
                freed = give_up(record)
                self._sizes[id(record)] -= freed
                self.size -= freed
                return
        record = self._records.popleft()
        self.size -= (self._sizes.pop(id(record))
                      - self._count_names(record, -1))

    def _kept_names(self, names):
        """Return columns of the recorder's own for the names of a record.

        With each reload all names are read anew, and records of many reloads
        would keep as many of each.
        """
        if not names:
            return ()
        last, kept = self._last_names
        if [*map(id, names)] != [*map(id, last)]:
            kept = tuple(
                column.coded_as(before) for column, before in zip(
                    names, kept or (labels.Labels.of(()),) * len(names),
                    strict=True))
            self._last_names = names, kept
        return kept

    def _count_names(self, record, change):
        """Return the bytes gained or lost by host names that records share.
        """
        total = 0
        for column in record.names:
            before = self._names[id(column)]
            self._names[id(column)] += change
            if not before or not self._names[id(column)]:
                total += change * _PER_NAME * len(column)
            if not self._names[id(column)]:
                del self._names[id(column)]
        return total
