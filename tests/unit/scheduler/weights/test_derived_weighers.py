"""Plug-ins that derive from a weigher here and override one of its methods."""

import pytest

from nova_sched.scheduler.weights.ram import RAMWeigher
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.rules import configured
from tests.builders.rules import weights


class OfOneHost(RAMWeigher):
    def _weigh_object(self, host_state, weight_properties):
        return -super()._weigh_object(host_state, weight_properties)


class OfAllHosts(RAMWeigher):
    minval = None

    def weigh_objects(self, weighed_obj_list, weight_properties):
        return [-value for value in super().weigh_objects(
            weighed_obj_list, weight_properties)]


class OfColumns(RAMWeigher):
    minval = None

    def column(self, hosts, spec_obj):
        return -super().column(hosts, spec_obj)


class Unbounded(RAMWeigher):
    minval = None


class Bounded(OfOneHost):
    minval, maxval = -100, -20


class Opinionated(RAMWeigher):
    def weight_multiplier(self, host_state):
        return 10.0 + super().weight_multiplier(host_state)


@pytest.mark.parametrize(('cls', 'expected'), [
    (RAMWeigher, [0.0, 0.25, 1.0]), (Unbounded, [0.0, 0.25, 1.0]),
    (OfOneHost, [0.0, 0.0, 0.0]), (OfAllHosts, [1.0, 0.75, 0.0]),
    (OfColumns, [1.0, 0.75, 0.0]), (Bounded, [1.0, 0.9375, 0.0]),
    (Opinionated, [0.0, 3.25, 13.0]),
])
def test_its_own_method_counts(cls, expected):
    """Which may ask for the weigher's; the bounds stay unless overridden."""
    weigher = configured(cls, ram_weight_multiplier=(
        3.0 if cls is Opinionated else 1.0))

    assert weights(weigher, hosts(*(
        a_host(free_ram_mb=free) for free in (0, 25, 100)))) == expected
