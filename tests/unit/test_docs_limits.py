"""The page on limits says what the limits are."""

import re

from nova_sched import conf as config
from nova_sched.objects import bounds
from tests.unit import doc_pages

PAGE = doc_pages.PAGES['limits.rst']
LIMITS = {name: value for name, value in vars(bounds).items()
          if name.isupper()}


def test_the_table_has_each_limit_with_its_value():
    rows = re.findall(r'^``([A-Z_]+)`` +([0-9]+) ', PAGE, re.MULTILINE)

    assert {name: int(value) for name, value in rows} == LIMITS


def test_the_options_have_the_defaults_that_stand_there():
    conf = config.new_conf([], []).nova_sched
    found = re.findall(r'^``\[nova_sched\] (\w+)``\n   ([0-9]+) by default',
                       PAGE, re.MULTILINE)

    assert {name: int(value) for name, value in found} == {
        name: conf[name] for name in (
            'max_instances_per_request', 'request_time_budget')}


def test_no_option_allows_more_instances_than_there_may_be():
    options = {option.name: option for group, options in config.list_opts()
               for option in options if str(group) == 'nova_sched'}

    assert options['max_instances_per_request'].type.max == bounds.INSTANCES
