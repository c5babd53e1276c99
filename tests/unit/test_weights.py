"""Weighing hosts: normalizing, the handler, and weighers of plug-ins."""

import math

import numpy as np
import pytest

from nova_sched import weights as base_weights
from nova_sched.scheduler import weights
from nova_sched.scheduler.weights.ram import RAMWeigher
from nova_sched.weights import WeighedObject
from nova_sched.weights import normalize
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured


@pytest.mark.parametrize(('raw', 'minval', 'maxval', 'expected'), [
    ([20, 50], None, None, [0.0, 1.0]),
    ([20, 50], 0, None, [0.4, 1.0]),
    ([20, 50], None, 100, [0.0, 0.375]),
    ([20, 50], 0, 100, [0.2, 0.5]),
    ([5, 5, 5], None, None, [0, 0, 0]),
    ([5, 5], 0, None, [1.0, 1.0]),
    ([0, 0], 0, None, [0.0, 0.0]),
    ([], None, None, []),
    ([], 0, 1, []),
])
def test_normalize_scales_to_the_bounds(raw, minval, maxval, expected):
    """By default the bounds of the values; equal values become 0."""
    scaled = normalize(np.array(raw, dtype=np.float64), minval, maxval)

    assert scaled.tolist() == expected


class FreeRam(weights.BaseHostWeigher):
    """A weigher that weighs one host at a time."""

    def _weigh_object(self, host_state, weight_properties):
        return host_state.free_ram_mb


def derived(base=FreeRam, **attributes):
    """A configured weigher of a class derived from another."""
    return configured(type('Derived', (base,), attributes))


def failing(*args):
    raise KeyError('gone')


def ram(*values):
    return hosts(*(a_host(free_ram_mb=value) for value in values))


def weigh(weighers, *values):
    """The hosts with these free amounts, weighed."""
    return base_weights.weigh(weighers, ram(*values), a_request())


class TestWeigh:
    def test_the_best_host_is_first(self):
        weighed = weigh([FreeRam()], 20, 50, 30)

        assert weighed.rows.tolist() == [1, 2, 0]
        assert weighed.weights.tolist() == [1.0, 1 / 3, 0.0]

    def test_equal_hosts_keep_their_order(self):
        assert weigh([FreeRam()], 5, 9, 5, 9).rows.tolist() == [1, 3, 0, 2]

    @pytest.mark.parametrize('values', [[7], []])
    def test_no_weigher_runs_for_one_host_or_none(self, values):
        weighed = weigh([derived(_weigh_object=failing)], *values)

        assert weighed.weights.tolist() == [0.0] * len(values)
        assert len(weighed.rows) == len(values)

    def test_a_shared_column_is_not_written(self):
        shared = np.array([20.0, 50.0, 30.0])
        weigher = derived(raw=lambda self, hosts, spec_obj: shared)

        weighed = weigh([weigher], 20, 50, 30)
        weighed.put(np.array([0]), {0: np.array([40.0])}, [weigher])

        assert weighed.rows.tolist() == [1, 0, 2]
        assert shared.tolist() == [20, 50, 30]

    @pytest.mark.parametrize('multiplier', [1.0, 0.0])
    def test_an_error_fails_the_request(self, caplog, multiplier):
        with pytest.raises(KeyError):
            weigh([derived(_weigh_object=failing, weight_multiplier=(
                lambda self, host_state: multiplier))], 1, 2)
        assert 'Derived' in caplog.text

    @pytest.mark.parametrize('values', [[1.0], [1.0, 2.0, 3.0], 1.0])
    def test_each_host_must_have_one_value(self, caplog, values):
        with pytest.raises(ValueError, match='for 2 hosts'):
            weigh([derived(raw=lambda *args: np.array(values))], 1, 2)
        assert 'Derived' in caplog.text

    @pytest.mark.parametrize('multipliers', [
        [1, 2], (1.0, 2.0), np.array([1, 2])])
    def test_multipliers_may_be_any_sequence(self, multipliers):
        weighed = weigh([derived(multipliers=lambda *args: multipliers)],
                        20, 50)

        assert weighed.weights.tolist() == [2.0, 0.0]
        assert weighed.parts([1])[0].tolist() == [[50.0, 1.0, 2.0]]

    def test_debug_has_a_line_a_weigher(self, caplog):
        with caplog.at_level('DEBUG', 'nova_sched'):
            weigh([FreeRam()], 20, 50)

        assert caplog.messages == [
            "FreeRam: raw | normalized | score (multiplier * weight) "
            "{('host1', 'host1'): '50.0 | 1.0 | 1.0 * 1.0', "
            "('host0', 'host0'): '20.0 | 0.0 | 1.0 * 0.0'}"]


def together(change):
    """A weigh_objects that changes the values of free memory."""
    def weigh_objects(self, weighed_obj_list, weight_properties):
        assert all(isinstance(weighed, WeighedObject)
                   for weighed in weighed_obj_list)
        return [change(weighed.obj.free_ram_mb)
                for weighed in weighed_obj_list]
    return weigh_objects


class OneHost(RAMWeigher):
    def _weigh_object(self, host_state, weight_properties):
        return -super()._weigh_object(host_state, weight_properties)


class AllHosts(RAMWeigher):
    def weigh_objects(self, weighed_obj_list, weight_properties):
        return [-value for value in super().weigh_objects(
            weighed_obj_list, weight_properties)]


class Columns(RAMWeigher):
    def column(self, hosts, spec_obj):
        return -super().column(hosts, spec_obj)


class Multiplied(RAMWeigher):
    def weight_multiplier(self, host_state):
        return 10.0 + super().weight_multiplier(host_state)


class Negated(FreeRam):
    def weigh_objects(self, weighed_obj_list, weight_properties):
        return -super().weigh_objects(weighed_obj_list, weight_properties)


class TestPlugIns:
    @pytest.mark.parametrize(('weigher', 'values', 'expected'), [
        (derived(minval=0, maxval=40), [-20, 20, 90], [0.0, 0.5, 1.0]),
        # Values of weigh_objects are not clamped.
        (derived(weights.BaseHostWeigher, minval=0,
                 weigh_objects=together(lambda value: value)),
         [-20, 40], [-0.5, 1.0]),
        (derived(RAMWeigher), [0, 25, 100], [0.0, 0.25, 1.0]),
        (derived(OneHost), [0, 25, 100], [0.0, 0.0, 0.0]),
        (derived(OneHost, minval=-100, maxval=-20), [0, 25, 100],
         [1.0, 0.9375, 0.0]),
        (derived(AllHosts, minval=None), [0, 25, 100], [1.0, 0.75, 0.0]),
        (derived(Columns, minval=None), [0, 25, 100], [1.0, 0.75, 0.0]),
        (derived(Multiplied), [0, 25, 100], [0.0, 2.75, 11.0]),
        (derived(RAMWeigher, minval=None,
                 weigh_objects=together(lambda value: -value)),
         [20, 50], [1.0, 0.0]),
        (derived(Negated), [20, 50], [1.0, 0.0])])
    def test_may_override_any_method(self, weigher, values, expected):
        """And call the base class; bounds stay unless overridden."""
        weighed = weigh([weigher], *values)

        assert dict(zip(weighed.rows.tolist(), weighed.weights.tolist(),
                        strict=True)) == dict(enumerate(expected))

    @pytest.mark.parametrize('method', [
        lambda self: 3.0, lambda self, host_state: 3.0,
        lambda self, *args: 3.0, staticmethod(lambda host_state: 3.0),
        staticmethod(lambda: 3.0)])
    def test_a_multiplier_takes_the_host_or_nothing(self, method):
        """Before Stein it took nothing."""
        assert weigh([derived(weight_multiplier=method)], 20,
                     50).weights.tolist() == [3.0, 0.0]

    def test_a_multiplier_may_differ_from_host_to_host(self):
        assert weigh([derived(weight_multiplier=lambda self, host_state: (
            0.5 if host_state.free_ram_mb > 40 else 2.0))], 0, 50,
            40).weights.tolist() == [1.6, 0.5, 0.0]

    def test_hosts_with_nan_weights_are_last(self, recwarn):
        assert weigh([derived(weight_multiplier=lambda self, host_state: (
            math.nan if host_state.free_ram_mb == 50 else 1.0))], 20, 50,
            30).rows.tolist() == [2, 0, 1]
        assert not recwarn.list

    @pytest.mark.parametrize('weigher', [
        derived(_weigh_object=lambda self, state, _: state.free_ram_mb > 30),
        derived(weigh_objects=together(lambda value: value > 30)),
        *(derived(weights.ColumnWeigher, **bound,
                  multiplier_name='ram_weight_multiplier',
                  column=lambda self, hosts, _: hosts.free_ram_mb > 30)
          for bound in ({}, {'minval': 0}))])
    def test_booleans_count_as_0_and_1(self, weigher):
        raw = weigher.raw(ram(20, 50), a_request())

        assert raw.dtype == np.float64
        assert (-raw).tolist() == [-0.0, -1.0]
        weighed = weigh([weigher], 20, 50, 60)
        assert weighed.rows.tolist() == [1, 2, 0]
        assert weighed.weights.tolist() == [1.0, 1.0, 0.0]

    def test_a_weighed_host_shows_its_host_and_weight(self):
        state, = ram(7).states()
        weighed = WeighedObject(state, 1.5)

        assert repr(weighed) == f'WeighedHost [host: {state!r}, weight: 1.5]'
        assert weighed.to_dict() == {'weight': 1.5, 'host': 'host0'}
