"""Work that is done again and again in a thread of its own."""

import logging
import threading

import pytest

from nova_sched import exception
from nova_sched.daemon import background_tasks


class Broken:
    """Work that fails with these errors, one a call, and then works."""

    def __init__(self, *errors):
        self._errors, self.calls = list(errors), 0

    def __call__(self):
        self.calls += 1
        if self._errors:
            error = self._errors.pop(0)
            if error is not None:
                raise error


class TestPeriodicTask:
    @pytest.fixture
    def do(self):
        """Function: have work done so many times."""
        def do(work, times):
            task = background_tasks.PeriodicTask('It', work, threading.Event())
            task.run([0] * times)
            return task
        return do

    def test_is_done_again_and_again(self, do):
        work = Broken()
        assert do(work, 3).tried.is_set()
        assert work.calls == 3

    def test_that_fails_is_told_once_until_it_works_again(self, do, caplog):
        caplog.set_level(logging.INFO, 'nova_sched')
        away = exception.DatabaseUnavailable('Database x: gone')
        do(Broken(away, away, away, None, None, away, None), 7)
        assert [record.levelname for record in caplog.records] == [
            'WARNING', 'INFO', 'WARNING', 'INFO']
        texts = caplog.messages
        assert texts[0].startswith('It fails')
        assert texts[0].endswith(': Database x: gone')
        assert texts[1] == 'It works again'

    def test_that_fails_for_no_known_reason_is_told_with_its_traceback(
            self, do, caplog):
        do(Broken(ValueError('x'), ValueError('x')), 3)
        warning, = [record for record in caplog.records
                    if record.levelname == 'WARNING']
        assert warning.exc_info[0] is ValueError

    def test_is_not_begun_after_a_stop(self):
        work, stopped = Broken(), threading.Event()
        stopped.set()
        task = background_tasks.PeriodicTask('It', work, stopped)
        task.run([0, 0])
        assert work.calls == 0
        assert task.tried.is_set()
