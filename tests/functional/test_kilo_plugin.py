"""The filter of Kilo's tutorial, as it was written and where it was put."""

import pytest

from nova_sched import exception
from tests.functional import conftest
from tests.functional import stage as stages

# Kilo's caller and its filter know plain text in hints; later callers send
# lists, of which the filter sees the only entry, as it did then.
TUTORIAL = """
from {package}.scheduler import filters


class SpecifiedHostFilter(filters.BaseHostFilter):

    def host_passes(self, host_state, filter_properties):
        hints = filter_properties.get('scheduler_hints', {{}})
        requested_host = hints.get('requested_host', None)
        if requested_host:
            return requested_host == host_state.host
        return True
"""


@pytest.fixture(params=conftest.BACKENDS)
def backend(request):
    return request.param


@pytest.fixture(params=['nova', 'nova_sched'])
def caller(request, backend, tmp_path, monkeypatch):
    """A caller of a scheduler with that filter, which imports its base
    class from Nova's package or from ours."""
    module = f'tutorial_{backend.replace("+", "_")}_{request.param}'
    (tmp_path / f'{module}.py').write_text(
        TUTORIAL.format(package=request.param))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv('PYTHONPATH', str(tmp_path), prepend=':')
    with conftest.open_stage(tmp_path, backend) as stage:
        stage.cloud(4)
        stage.scheduler(
            filter_scheduler__available_filters=[
                'nova.scheduler.filters.all_filters',
                f'{module}.SpecifiedHostFilter'],
            filter_scheduler__enabled_filters=(
                'RamFilter,ComputeFilter,SpecifiedHostFilter'))
        yield stage.client()


def test_the_tutorials_filter_works_as_written(caller):
    """It finds the host of a hint that matches, and none for another one."""
    for host in ('fake-0002', 'fake-0004'):
        hints = {'requested_host': [host]}
        assert stages.names(caller.ask(hints=hints)) == [[host]]
    assert len(caller.ask()[0]) == 3
    with pytest.raises(exception.NoValidHost,
                       match='0 of 4 hosts: 4 SpecifiedHostFilter'):
        caller.ask(hints={'requested_host': ['elsewhere']})
