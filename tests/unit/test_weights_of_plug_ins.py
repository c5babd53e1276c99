"""Weighers that answer in odd types, or put a method of theirs in a
built-in."""

import numpy as np
import pytest

from nova_sched.scheduler import weights
from nova_sched.scheduler.weights import ram as ram_weigher
from nova_sched.weights import WeightHandler
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured


class Roomy(weights.BaseHostWeigher):
    """Answers with a boolean."""

    def _weigh_object(self, host_state, weight_properties):
        return host_state.free_ram_mb > 30


class RoomyTogether(weights.BaseHostWeigher):
    def weigh_objects(self, weighed_obj_list, weight_properties):
        return [weighed.obj.free_ram_mb > 30 for weighed in weighed_obj_list]


class RoomyColumn(weights.ColumnWeigher):
    multiplier_name = 'ram_weight_multiplier'

    def column(self, hosts, spec_obj):
        return hosts.free_ram_mb > 30


class Bounded(RoomyColumn):
    minval = 0


class Rescued(ram_weigher.RAMWeigher):
    """The built-in, with a hook for all hosts at once."""

    minval = None

    def weigh_objects(self, weighed_obj_list, weight_properties):
        return [-weighed.obj.free_ram_mb for weighed in weighed_obj_list]


class Doubled(ram_weigher.RAMWeigher):
    """The same, which asks the built-in."""

    def weigh_objects(self, weighed_obj_list, weight_properties):
        return [2 * value for value in super().weigh_objects(
            weighed_obj_list, weight_properties)]


class Crowded(Roomy):
    """Turns what the class that it derives from answers."""

    def weigh_objects(self, weighed_obj_list, weight_properties):
        return -super().weigh_objects(weighed_obj_list, weight_properties)


def block(*values):
    return hosts(*(a_host(free_ram_mb=value) for value in values))


@pytest.mark.parametrize('cls', [Roomy, RoomyTogether, RoomyColumn, Bounded])
def test_booleans_are_weights_of_0_and_1(cls):
    """As floats, with which everything that follows can calculate."""
    raw = configured(cls).raw(block(20, 50), a_request())

    assert raw.dtype == np.float64
    assert (-raw).tolist() == [-0.0, -1.0]


@pytest.mark.parametrize('cls', [Roomy, RoomyTogether, RoomyColumn, Bounded])
def test_a_host_of_which_something_is_true_is_better(cls):
    weighed = WeightHandler().weigh(
        [configured(cls)], block(20, 50, 60), a_request())

    assert weighed.rows.tolist() == [1, 2, 0]
    assert weighed.weights.tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize('cls, best', [
    (Rescued, 0), (Doubled, 1), (Crowded, 0)])
def test_one_may_override_weigh_objects_of_another_weigher(cls, best):
    weighed = WeightHandler().weigh(
        [configured(cls)], block(20, 50), a_request())

    assert weighed.rows[0] == best


def test_what_it_answers_is_neither_clamped_nor_changed():
    assert configured(Rescued).raw(
        block(20, 50), a_request()).tolist() == [-20.0, -50.0]
    assert configured(Doubled).raw(
        block(-20, 50), a_request()).tolist() == [0.0, 100.0]
