"""Decisions with instances that a database does not show."""

import logging

import pytest

from nova_sched import exception
from nova_sched.db import cell_reader
from nova_sched.hosts import decision
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import instance_rules
from tests.builders import requests
from tests.builders.instance_rules import RULES
from tests.builders.instance_rules import ask_for_other
from tests.builders.instance_rules import one_that_sends_to_b
from tests.builders.mapped_cloud import CELL2
from tests.builders.placement import Placement


@pytest.fixture
def hosts(cloud):
    return instance_rules.load(cloud)


@pytest.mark.parametrize('name', [name for name in RULES if 'Group' in name])
def test_a_claimed_member_counts_before_the_database_shows_it(hosts, name):
    """Its amounts count in Placement."""
    rule, placement = RULES[name], Placement([*instance_rules.NODES.values()])
    driver = hosts.driver(**rule.options)
    free = drivers.free_ram_mb(driver)
    ask_for_other(driver, rule, one_that_sends_to_b(rule), placement.offer())
    uuid = clouds.a_uuid()

    [[chosen]] = drivers.select(driver, requests.a_request(
        instance_uuid=uuid, **rule.request), [uuid], offer=placement.offer())

    assert chosen.service_host == 'b'
    assert drivers.free_ram_mb(driver) == free


class TestSilentCell:
    """Cell two, with host c, stops answering during queries of instances."""

    @pytest.fixture(params=['TypeAffinityFilter', 'a plug-in',
                            'DifferentHostFilter', 'ImagePropertiesWeigher'])
    def rule(self, request):
        return RULES[request.param]

    @pytest.fixture(params=['filter_scheduler', 'caching_scheduler'])
    def driver(self, request, mapped_cloud, rule, monkeypatch):
        driver = mapped_cloud.driver(request.param, **rule.options)
        gone = []
        for name in ('locate_instances', 'instances_on',
                     'image_properties', 'changes'):
            monkeypatch.setattr(
                cell_reader.CellReader, name, silent_in_cell_two(
                    getattr(cell_reader.CellReader, name), gone,
                    falls=name != 'changes'))
        return driver

    def test_loses_its_hosts_with_a_log_line(self, driver, rule, caplog):
        caplog.set_level(logging.INFO)
        record = decision.Decision()

        found = drivers.select(driver, requests.a_request(
            **rule.request, num_instances=3), record=record)

        assert {chosen[0].service_host for chosen in found} <= {'a', 'b'}
        assert record.tries == 2
        assert record.state.lost == ((f'{CELL2}(two)', 'gone'),)
        [line] = [line for line in caplog.messages
                  if line.startswith('Deciding again')]
        assert 'gone' in line


def silent_in_cell_two(read, gone, falls):
    """A method of CellReader that fails once that cell's server is gone.

    gone: list that is not empty from then on.
    falls: whether the server goes at a call of this method.
    """
    def read_or_not(self, *args):
        if self.cell.uuid == CELL2 and (falls or gone):
            gone.append(True)
            raise exception.DatabaseUnavailable('gone')
        return read(self, *args)
    return read_or_not
