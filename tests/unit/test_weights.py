"""Weighing hosts: normalizing, the handler and the base classes."""

import math

import numpy as np
import pytest

from nova_sched.scheduler import weights
from nova_sched.weights import WeighedObject
from nova_sched.weights import WeightHandler
from nova_sched.weights import normalize
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request


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
    """The column's own where none are fixed; all 0 when they are equal."""
    scaled = normalize(np.array(raw, dtype=np.float64), minval, maxval)

    assert scaled.tolist() == expected


class FreeRam(weights.BaseHostWeigher):
    """A weigher that looks at one host at a time."""

    def _weigh_object(self, host_state, weight_properties):
        return host_state.free_ram_mb


def ram(*values):
    return hosts(*(a_host(free_ram_mb=value) for value in values))


def weigh(weighers, block):
    return WeightHandler().weigh(weighers, block, a_request())


class TestWeightHandler:
    def test_puts_the_best_host_first(self):
        weighed = weigh([FreeRam()], ram(20, 50, 30))

        assert weighed.rows.tolist() == [1, 2, 0]
        assert weighed.weights.tolist() == [1.0, 1 / 3, 0.0]

    def test_keeps_the_order_of_equals(self):
        assert weigh([FreeRam()], ram(5, 9, 5, 9)).rows.tolist() == [
            1, 3, 0, 2]

    def test_adds_up_the_weighers(self):
        weighed = weigh([FreeRam(), FreeRam()], ram(20, 50))

        assert weighed.weights.tolist() == [2.0, 0.0]

    @pytest.mark.parametrize('block', [ram(7), ram()])
    def test_runs_no_weigher_for_one_host_or_none(self, block):
        class Broken(weights.BaseHostWeigher):
            def _weigh_object(self, host_state, weight_properties):
                raise ValueError

        weighed = weigh([Broken()], block)

        assert weighed.weights.tolist() == [0.0] * len(block)
        assert len(weighed.rows) == len(block)

    def test_tells_what_each_weigher_gave_a_host(self):
        class Doubled(FreeRam):
            def weight_multiplier(self, host_state):
                return -2.0

        weighed = weigh([FreeRam(), Doubled()], ram(20, 50))

        assert weighed.names == ('FreeRam', 'Doubled')
        assert weighed.parts([0])[0].tolist() == [[20.0, 0.0, 1.0],
                                                  [20.0, 0.0, -2.0]]
        assert weighed.parts([1])[0].tolist() == [[50.0, 1.0, 1.0],
                                                  [50.0, 1.0, -2.0]]

    def test_weights_change_and_the_weighers_column_does_not(self):
        """A weigher may return a column that all requests share."""
        shared = np.array([20.0, 50.0, 30.0])

        class Shared(FreeRam):
            def raw(self, hosts, spec_obj):
                return shared

        weigher = Shared()
        weighed = weigh([weigher], ram(20, 50, 30))
        weighed.put(np.array([0]), {0: np.array([40.0])}, [weigher])

        assert weighed.rows.tolist() == [1, 0, 2]
        assert shared.tolist() == [20, 50, 30]

    def test_an_error_in_a_weigher_fails_the_request(self, caplog):
        class Broken(weights.BaseHostWeigher):
            def _weigh_object(self, host_state, weight_properties):
                raise KeyError('gone')

        with pytest.raises(KeyError):
            weigh([Broken()], ram(1, 2))
        assert 'Broken' in caplog.text

    @pytest.mark.parametrize('values', [[1.0], [1.0, 2.0, 3.0], 1.0])
    def test_a_weigher_must_weigh_each_host_once(self, caplog, values):
        class Careless(weights.BaseHostWeigher):
            def raw(self, hosts, spec_obj):
                return np.array(values)

        with pytest.raises(ValueError, match='for 2 hosts'):
            weigh([Careless()], ram(1, 2))
        assert 'Careless' in caplog.text

    @pytest.mark.parametrize('multipliers', [
        [1, 2], (1.0, 2.0), np.array([1, 2])])
    def test_multipliers_may_be_any_sequence(self, multipliers):
        class Listed(FreeRam):
            def multipliers(self, hosts):
                return multipliers

        weighed = weigh([Listed()], ram(20, 50))

        assert weighed.weights.tolist() == [2.0, 0.0]
        assert weighed.parts([1])[0].tolist() == [[50.0, 1.0, 2.0]]

    def test_logs_each_step_of_a_weight_in_one_line(self, caplog):
        with caplog.at_level('DEBUG', 'nova_sched'):
            weigh([FreeRam()], ram(20, 50))

        assert caplog.messages == [
            "FreeRam: raw | normalized | score (multiplier * weight) "
            "{('host1', 'host1'): '50.0 | 1.0 | 1.0 * 1.0', "
            "('host0', 'host0'): '20.0 | 0.0 | 1.0 * 0.0'}"]


class TestPlugIns:
    def test_a_fixed_bound_clamps_what_is_beyond_it(self):
        class Bounded(FreeRam):
            minval, maxval = 0, 40

        assert weigh([Bounded()], ram(-20, 20, 90)).weights.tolist() == [
            1.0, 0.5, 0.0]

    def test_values_of_an_overridden_weigh_objects_are_not_clamped(self):
        class Together(weights.BaseHostWeigher):
            minval = 0

            def weigh_objects(self, weighed_obj_list, weight_properties):
                assert all(isinstance(weighed, WeighedObject)
                           for weighed in weighed_obj_list)
                return [weighed.obj.free_ram_mb
                        for weighed in weighed_obj_list]

        assert weigh([Together()], ram(-20, 40)).weights.tolist() == [
            1.0, -0.5]

    @pytest.mark.parametrize('method', [
        lambda self: 3.0, lambda self, host_state: 3.0,
        lambda self, *args: 3.0, staticmethod(lambda host_state: 3.0),
        staticmethod(lambda: 3.0)])
    def test_a_multiplier_takes_the_host_or_nothing(self, method):
        """Before Stein it took nothing."""
        weigher = type('Tripled', (FreeRam,), {'weight_multiplier': method})

        assert weigh([weigher()], ram(20, 50)).weights.tolist() == [3.0, 0.0]

    def test_a_multiplier_may_differ_from_host_to_host(self):
        class Halved(FreeRam):
            def weight_multiplier(self, host_state):
                return 0.5 if host_state.free_ram_mb > 40 else 2.0

        assert weigh([Halved()], ram(0, 50, 40)).weights.tolist() == [
            1.6, 0.5, 0.0]

    def test_a_multiplier_of_0_still_asks_for_the_value(self):
        class Ignored(weights.BaseHostWeigher):
            def weight_multiplier(self, host_state):
                return 0.0

            def _weigh_object(self, host_state, weight_properties):
                raise KeyError('gone')

        with pytest.raises(KeyError):
            weigh([Ignored()], ram(1, 2))

    def test_hosts_of_no_weight_at_all_go_last(self, recwarn):
        class Odd(FreeRam):
            def weight_multiplier(self, host_state):
                return math.nan if host_state.free_ram_mb == 50 else 1.0

        assert weigh([Odd()], ram(20, 50, 30)).rows.tolist() == [2, 0, 1]
        assert not recwarn.list

    def test_one_may_override_the_row_wise_method_of_a_built_in(self):
        class Column(weights.ColumnWeigher):
            multiplier_name = 'ram_weight_multiplier'
            multiplier = 1.0

            def column(self, hosts, spec_obj):
                return hosts.free_ram_mb

        class Negated(Column):
            def _weigh_object(self, host_state, weight_properties):
                return -super()._weigh_object(host_state, weight_properties)

        assert weigh([Column()], ram(20, 50)).rows.tolist() == [1, 0]
        assert weigh([Negated()], ram(20, 50)).rows.tolist() == [0, 1]

    def test_a_weighed_host_shows_its_host_and_weight(self):
        state, = ram(7).states()
        weighed = WeighedObject(state, 1.5)

        assert repr(weighed) == f'WeighedHost [host: {state!r}, weight: 1.5]'
        assert weighed.to_dict() == {'weight': 1.5, 'host': 'host0'}
