"""Whether the service can start, and with how many workers."""

import os
import subprocess
import sys

import pytest

from nova_sched.preflight import startup
from nova_sched.scheduler import caching_scheduler
from nova_sched.scheduler import driver
from nova_sched.scheduler import filter_scheduler
from tests.builders import rules


class MyFilterScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler by another name."""


class MyCachingScheduler(caching_scheduler.CachingScheduler):
    """The caching scheduler by another name."""


class MyScheduler(driver.Scheduler):
    """May keep state."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False):
        return []


class TestWorkerCount:
    @pytest.mark.parametrize('driver', [
        'filter_scheduler', 'caching_scheduler', 'chance_scheduler'])
    def test_is_the_option(self, driver):
        conf = rules.a_conf(scheduler__workers=3, scheduler__driver=driver)
        assert startup.worker_count(conf) == 3

    @pytest.mark.parametrize('workers', [None, 0])
    @pytest.mark.parametrize('driver', [
        'filter_scheduler',
        'nova.scheduler.filter_scheduler.FilterScheduler',
        f'{__name__}.MyFilterScheduler'])
    def test_is_one_for_each_cpu_with_the_filter_scheduler(
            self, driver, workers):
        conf = rules.a_conf(scheduler__workers=workers,
                            scheduler__driver=driver)
        assert startup.worker_count(conf) == len(os.sched_getaffinity(0))

    @pytest.mark.parametrize('driver', [
        'caching_scheduler', 'chance_scheduler',
        f'{__name__}.MyCachingScheduler', f'{__name__}.MyScheduler'])
    def test_is_one_with_a_driver_that_may_keep_state(self, driver):
        conf = rules.a_conf(scheduler__driver=driver)
        assert startup.worker_count(conf) == 1


_READ_BY_PLUG_INS = """
import sys
from nova_sched import conf
from nova_sched.preflight import startup
assert startup.problems(conf.new_conf(sys.argv[1:])) == []
from nova.conf import CONF
print(CONF.ram_allocation_ratio, CONF.oslo_concurrency.lock_path)
"""


class TestProblems:
    def test_are_found_without_changing_the_options_of_plug_ins(
            self, tmp_path):
        """Loading the drivers sets a default for the lock path."""
        file = tmp_path / 'nova.conf'
        file.write_text(
            '[DEFAULT]\nram_allocation_ratio = 3.5\n'
            f'[oslo_concurrency]\nlock_path = {tmp_path}\n'
            '[oslo_messaging_rabbit]\nuse_queue_manager = true\n')
        ended = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', _READ_BY_PLUG_INS,
             '--config-file', str(file)], capture_output=True, text=True)

        assert (ended.stderr, ended.stdout) == ('', f'3.5 {tmp_path}\n')

    def test_all_wrong_filters_and_weighers_are_reported(self):
        found = startup.problems(rules.a_conf(
            enabled_filters=['RamFliter', 'JsonFliter'],
            weight_classes=['nova.scheduler.weights.ram.Weigher']))
        assert [error.value for error in found] == [
            'RamFliter', 'JsonFliter', 'nova.scheduler.weights.ram.Weigher']

    def test_filters_that_the_driver_does_not_run_are_not_checked(self):
        assert startup.problems(rules.a_conf(
            scheduler__driver='chance_scheduler',
            enabled_filters=['NoSuchFilter'])) == []
