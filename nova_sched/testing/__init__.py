"""Helpers for the tests of filters and weighers.

A test builds hosts and a request and asserts what a rule makes of them
(``survivors``, ``weights``); ``check_filter`` and ``check_weigher`` check the
contract of every rule. ``doc/source/plugins.rst`` has an example.

The package needs nothing that the service does not need, not even pytest.
Importing it makes Nova's module names importable where Nova is not installed,
so a test imports it before a plug-in that imports ``nova``, best in
``conftest.py``.
"""

from nova_sched import conf as config
from nova_sched.plugins import classes
from nova_sched.testing.contract import check_filter
from nova_sched.testing.contract import check_weigher
from nova_sched.testing.host_builders import NEVER_REPORTED
from nova_sched.testing.host_builders import a_host
from nova_sched.testing.host_builders import an_aggregate
from nova_sched.testing.host_builders import hosts
from nova_sched.testing.request_builders import a_destination
from nova_sched.testing.request_builders import a_flavor
from nova_sched.testing.request_builders import a_group
from nova_sched.testing.request_builders import a_request
from nova_sched.testing.request_builders import an_image
from nova_sched.testing.rules import a_conf
from nova_sched.testing.rules import configured
from nova_sched.testing.rules import survivors
from nova_sched.testing.rules import weights

classes.provide_names(config.new_conf([], []))
