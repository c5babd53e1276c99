"""NUMA cells that ``request call`` derives from flavor and image."""

import pytest

from nova_sched import exception
from tests.builders.case_tables import case_table
from tests.unit.cmd.test_request_spec import spec_of

CPU_NUMBERS = 'must be CPU numbers such as'
EACH_CELL = 'must have a value for each of 2 cells'


class TestGuest:
    """The NUMA cells of a guest."""

    @pytest.mark.parametrize('specs, cells', [
        ({}, None),
        ({'hw:numa_nodes': 2},
         [({0, 1}, set(), 1024, None), ({2, 3}, set(), 1024, None)]),
        ({'hw:cpu_policy': 'dedicated'}, [(set(), {0, 1, 2, 3}, 2048, None)]),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '^0-1'},
         [({0, 1}, {2, 3}, 2048, None)]),
        ({'hw:mem_page_size': 'large'}, [({0, 1, 2, 3}, set(), 2048, -2)]),
        ({'hw:mem_page_size': '2MB'}, [({0, 1, 2, 3}, set(), 2048, 2048)]),
        ({'hw:mem_page_size': '2048'}, [({0, 1, 2, 3}, set(), 2048, 2048)]),
        ({'hw:numa_nodes': 2, 'hw:numa_cpus.0': '0', 'hw:numa_mem.0': 48,
          'hw:numa_cpus.1': '1-3', 'hw:numa_mem.1': 2000},
         [({0}, set(), 48, None), ({1, 2, 3}, set(), 2000, None)]),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_realtime': 'yes',
          'hw:cpu_realtime_mask': '2-3'}, [({0, 1}, {2, 3}, 2048, None)]),
        ({'hw:cpu_policy': 'dedicated', 'hw:cpu_realtime': 'yes',
          'hw:cpu_realtime_mask': '^0'}, [(set(), {0, 1, 2, 3}, 2048, None)]),
        ({'hw:cpu_policy': 'dedicated', 'hw:cpu_realtime': 'yes',
          'hw:emulator_threads_policy': 'share'},
         [(set(), {0, 1, 2, 3}, 2048, None)]),
        ({'hw:cpu_policy': 'dedicated', 'hw:cpu_realtime': 'no'},
         [(set(), {0, 1, 2, 3}, 2048, None)]),
        ({'hw:mem_page_size': '0'}, None),
        ({'hw:mem_page_size': 'small', 'hw:locked_memory': 'true'},
         [({0, 1, 2, 3}, set(), 2048, -1)]),
        ({'hw:pmem': 'small'}, [({0, 1, 2, 3}, set(), 2048, None)]),
    ])
    def test_is_made_as_nova_s_api_makes_it(self, specs, cells):
        spec = spec_of('--vcpus', 4, '--ram', 2048, *(
            f'--extra-spec={name}={value}' for name, value in specs.items()))

        found = spec.numa_topology
        assert cells == (None if found is None else [
            (cell.cpuset, cell.pcpuset, cell.memory, cell.pagesize)
            for cell in found.cells])

    @pytest.mark.parametrize('specs, properties, words', [
        ('hw:numa_nodes=3', '', 'hw:numa_nodes'),
        ('hw:numa_nodes=0', '', 'hw:numa_nodes'),
        ('hw:numa_nodes=two', '', 'hw:numa_nodes'),
        ('hw:mem_page_size=huge', '', 'hw:mem_page_size'),
        ('hw:cpu_policy=mixed', '', 'hw:cpu_policy'),
        ('hw:cpu_policy=both', '', 'hw:cpu_policy'),
        ('hw:cpu_thread_policy=require', '', 'hw:cpu_thread_policy'),
        ('hw:emulator_threads_policy=isolate', '',
         'hw:emulator_threads_policy'),
        ('hw:cpu_policy=mixed hw:cpu_dedicated_mask=one', '', CPU_NUMBERS),
        ('hw:cpu_policy=mixed hw:cpu_dedicated_mask=^one', '', CPU_NUMBERS),
        ('hw:numa_nodes=1 hw:numa_cpus.0=0-x', '', CPU_NUMBERS),
        ('hw:numa_nodes=2 hw:numa_cpus.0=0-3', '', 'cells must hold'),
        ('hw:numa_nodes=2 hw:numa_cpus.0=0-1 hw:numa_mem.0=1024 '
         'hw:numa_cpus.1=1-9 hw:numa_mem.1=1024', '', 'cells must hold'),
        ('hw:numa_nodes=2 hw:numa_cpus.0=0-1 hw:numa_mem.0=1 '
         'hw:numa_cpus.1=2-3 hw:numa_mem.1=2', '', 'cells must hold'),
        # Nova refuses an image that repeats the flavor.
        ('hw:numa_nodes=2', 'hw_numa_nodes=2', 'hw_numa_nodes'),
        ('hw:numa_nodes=2', 'hw_numa_nodes=1', 'hw_numa_nodes'),
        ('hw:numa_nodes=1 hw:numa_cpus.0=0-3 hw:numa_mem.0=512',
         'hw_numa_mem.0=512', 'hw_numa_mem'),
        ('', 'hw_numa_nodes=2 hw_numa_cpus.0=0-3', EACH_CELL),
        ('', 'hw_numa_nodes=2 hw_numa_mem.0=512', EACH_CELL),
        ('', 'hw_mem_page_size=2MB', 'must be large or any'),
        ('hw:mem_page_size=4', 'hw_mem_page_size=2MB',
         'must be large or any')])
    def test_wrong_values_are_refused(self, specs, properties, words):
        with pytest.raises(exception.InvalidInput, match=words):
            spec_of('--vcpus', 4, '--ram', 2048, *(
                f'--extra-spec={pair}' for pair in specs.split()), *(
                f'--image-property={pair}' for pair in properties.split()))

    @case_table('cmd-guests', 'contradictions')
    def test_contradictions_are_refused(self, specs, name):
        with pytest.raises(exception.InvalidInput, match=name):
            spec_of('--vcpus', 4, *(
                f'--extra-spec={key}={value}'
                for key, value in specs.items()))

    @pytest.mark.parametrize('vcpus, specs, name', [
        (2 ** 31 - 1, ['hw:cpu_policy=dedicated'], 'flavor.vcpus'),
        (2 ** 31 - 1, ['hw:numa_nodes=1'], 'flavor.vcpus'),
        (2 ** 31 - 1, ['hw:cpu_policy=dedicated', 'hw:cpu_realtime=yes',
                       'hw:emulator_threads_policy=share'], 'flavor.vcpus'),
        (2 ** 31 - 1, ['hw:cpu_policy=mixed', 'hw:cpu_realtime=yes',
                       'hw:emulator_threads_policy=share'], 'flavor.vcpus'),
        (0, ['hw:numa_nodes=2000000000'], 'hw:numa_nodes')])
    def test_absurd_size_is_refused_at_once(self, vcpus, specs, name):
        """Before that many numbers are made."""
        with pytest.raises(exception.InvalidInput, match=(
                f'{name} = .*: must be at most')):
            spec_of('--vcpus', vcpus, *(
                f'--extra-spec={spec}' for spec in specs))

    def test_has_the_policy_of_the_flavor_before_that_of_the_image(self):
        found = spec_of('--extra-spec=hw:cpu_policy=dedicated',
                        '--image-property=hw_cpu_policy=shared')
        assert found.numa_topology.cells[0].cpu_policy == 'dedicated'

    def test_may_come_from_the_image(self):
        found = spec_of('--vcpus', 4, *(
            f'--image-property={pair}' for pair in (
                'hw_numa_nodes=2', 'hw_numa_cpus.0=0', 'hw_numa_cpus.1=1,2,3',
                'hw_numa_mem.0=128', 'hw_numa_mem.1=384'))).numa_topology

        assert [(cell.cpuset, cell.memory) for cell in found.cells] == [
            ({0}, 128), ({1, 2, 3}, 384)]

    def test_has_pages_of_an_image_if_the_flavor_allows(self):
        found = spec_of('--extra-spec=hw:mem_page_size=large',
                        '--image-property=hw_mem_page_size=2MB')
        assert found.numa_topology.cells[0].pagesize == 2048
