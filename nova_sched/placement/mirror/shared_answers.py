"""Answers of Placement that the workers of a service share.

Each worker keeps a copy of its own.  All would send the same query at the same
time, so the first one sends it, and the others wait and take its answer.  They
also take one that came before they asked, if it is new enough: so this is a
cache with a lock, and no ``single_flight``.
"""

import os
import pathlib
import pickle
import time
import typing

from nova_sched.shared_region import SharedRegion

#: Seconds that a worker waits for the answer to another one, at most: what a
#: query of its own may take, of thousands of providers one by one.
PATIENCE = 300
#: Seconds that it waits for one that holds the lock and has not begun to ask.
SILENT = 1
#: Seconds between two looks whether it is there.
PAUSE = 0.01


class Answer(typing.NamedTuple):
    """What Placement has answered.

    began: when it was asked, as of time.monotonic().  took: seconds.
    """

    began: float
    took: float
    value: object


class SharedAnswers:
    """The newest answer to each of some questions.

    Made before the workers are forked, for all of them.  Safe for threads.

    questions: names.  workers: their number; answers to a single one are not
        kept.
    """

    def __init__(self, questions=(), workers=1, clock=time.monotonic):
        self.workers, self._clock = workers, clock
        self._kept = {question: _KeptAnswer('answer of placement')
                      for question in questions if workers > 1}

    def get(self, question, source, ask, after):
        """Return an Answer that was asked for after a moment.

        source: text that says whose answer it is; those of others are not
            taken.
        ask: function without arguments that asks.  What it raises is raised
            here, and not kept.
        A worker that is stopped while it asks, or asks for more than PATIENCE
        seconds, is not waited for: this one asks for itself, and keeps
        nothing for others.
        """
        kept = self._kept.get(question)
        if kept is None:
            return self.asked(ask)
        with kept.threads, kept.locked(
                patience=kept.patience, pause=PAUSE) as is_locked:
            if not is_locked:
                return self.asked(ask)
            kept.words.asker = os.getpid()
            try:
                found = kept.read(source)
                if found is None or found.began <= after:
                    found = self.asked(ask)
                    kept.write(source, found)
                return found
            finally:
                kept.words.asker = 0

    def asked(self, ask):
        """Return an Answer to this worker alone."""
        began = self._clock()
        value = ask()
        return Answer(began, self._clock() - began, value)


class _KeptAnswer(SharedRegion):
    """An Answer, of any size.

    size: of what is kept, bytes; 0 for none.  asker: the process that asks; 0
    for none.
    """

    WORDS = ('size', 'asker')

    def patience(self):
        """Return a function: whether to go on waiting for the lock."""
        began = time.monotonic()

        def is_waited_for():
            asker = self.words.asker
            return (time.monotonic() - began < (PATIENCE if asker else SILENT)
                    and not _is_stopped(asker))
        return is_waited_for

    def read(self, source):
        """Return the Answer, or None."""
        if not self.words.size:
            return None
        # Only this service's own workers can write there.
        of, answer = pickle.loads(  # noqa: S301
            os.pread(self.file, self.words.size, self.BEGIN))
        return answer if of == source else None

    def write(self, source, answer):
        """Keep an Answer in place of the last one."""
        data = pickle.dumps((source, answer), pickle.HIGHEST_PROTOCOL)
        self.words.size = 0
        os.ftruncate(self.file, self.BEGIN)
        if os.pwrite(self.file, data, self.BEGIN) == len(data):
            self.words.size = len(data)


def _is_stopped(process):
    try:
        status = pathlib.Path(f'/proc/{process}/stat').read_text()
    except OSError:
        return False
    # After the name of its program, which may hold anything.
    return status.rpartition(')')[2].split()[0] in 'Tt'
