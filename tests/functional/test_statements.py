"""Log lines that articles and runbooks quote of Nova's scheduler.

They quote a log of Queens at DEBUG.  The cloud has two cells, cell0, and a
scripted Placement.
"""

import re

import pytest

from nova_sched import exception
from nova_sched.db import cells
from tests.builders import clouds
from tests.builders import http_placement
from tests.functional import cell_databases
from tests.functional import conftest
from tests.functional.cell_databases import CELL1
from tests.functional.cell_databases import CELL2

pytestmark = pytest.mark.real

A, B, C = (clouds.a_uuid(number) for number in range(1, 4))
#: Placement's answer; b has no allocation request.
CANDIDATES = http_placement.candidates(
    *map(http_placement.a_candidate, (A, C)), others=[B])
#: Header that names the request.
ID = 'X-Openstack-Request-Id'


@pytest.fixture(scope='module')
def stage(tmp_path_factory):
    with conftest.open_stage(
            tmp_path_factory.mktemp('statements'),
            DEFAULT__service_down_time=10 ** 9, DEFAULT__debug=True,
            DEFAULT__default_log_levels='keystoneauth=DEBUG') as stage:
        yield stage


@pytest.fixture(scope='module')
def placement():
    """Offers the hosts a and c; a is full, c has room for one instance a
    request.
    """
    with http_placement.placement() as server:
        def claimed(asked):
            same = [other for other in server.to('PUT', '/allocations/')
                    if C in other.body['allocations']
                    and other.headers[ID] == asked.headers[ID]]
            return (http_placement.TAKEN if same == [asked]
                    else http_placement.FULL)

        server.on('GET', '/allocation_candidates', CANDIDATES)
        server.on('PUT', '/allocations/', claimed)
        server.on('POST', '/allocations', http_placement.FULL)
        yield server


@pytest.fixture(scope='module')
def daemon(stage, placement):
    """A daemon with cell one, hosts a and b, and cell two, host c."""
    stage.sync()
    with cell_databases.new(3) as [api, one, two]:
        cell_databases.fill(one, {'a': A, 'b': B})
        cell_databases.fill(two, {'c': C})
        cell_databases.fill(api, cells=[
            (cells.CELL0_UUID, 'cell0', stage.database_url),
            (CELL1, 'one', one), (CELL2, 'two', two)])
        yield stage.daemon(
            api_database__connection=api, placement__auth_type='none',
            placement__endpoint_override=placement.url)


class Trail:
    """The lines of one request, in the log of a daemon.

    instance: the uuid of its first instance.
    """

    def __init__(self, daemon, request_id, instance=None):
        self._lines = [line for line in daemon.text.splitlines()
                       if request_id in line]
        self.instance = instance

    def of(self, words):
        """The lines with these words."""
        return [line for line in self._lines if words in line]

    def order(self, *expressions):
        """The expressions in the order in which lines match them."""
        found = [expression for line in self._lines
                 for expression in expressions if re.search(expression, line)]
        return [expression for expression, before
                in zip(found, [None, *found], strict=False)
                if expression != before]


REQUEST_ID = 'req-8a3f1c52-0b6e-4d0e-9d4b-{:012d}'


@pytest.fixture(scope='module')
def placed(stage, daemon):
    """The Trail of a request that gets c because a is full."""
    caller = stage.client()
    [[selected, *_]] = caller.ask(request_id=REQUEST_ID.format(1))
    assert selected.service_host == 'c'
    return Trail(daemon, REQUEST_ID.format(1), caller.instances[0])


@pytest.fixture(scope='module')
def refused(stage, daemon):
    """The Trail of a request for two instances; c has room for one."""
    with pytest.raises(exception.NoValidHost):
        stage.client().ask(count=2, request_id=REQUEST_ID.format(2))
    return Trail(daemon, REQUEST_ID.format(2))


def test_each_cell_that_is_read_has_a_line(placed):
    """All but cell0, which never has hosts."""
    [one, two] = placed.of('Getting compute nodes and services for cell ')
    assert f'for cell {CELL1}(one) ' in one
    assert f'for cell {CELL2}(two) ' in two


def test_milestones_are_logged_in_nova_s_order(placed):
    """After a refused claim the hosts are ranked again."""
    read = ['GET .*/allocation_candidates', 'Getting compute nodes']
    tried = [
        r'Starting with 3 host\(s\)', 'Filtered ', 'Weighed ',
        'Attempting to claim resources in the placement API for instance ']
    last = ['Selected host: ']

    assert placed.order(*read, *tried, *last) == [
        *read, *tried, *tried, *last]


def test_query_for_candidates_has_a_limit_of_1000(placed):
    [line] = [line for line in placed.of('REQ: curl -g -i -X GET ')
              if '/allocation_candidates?' in line]
    assert 'limit=1000' in line
    assert 'resources=DISK_GB%3A1%2CMEMORY_MB%3A512%2CVCPU%3A1' in line


def test_claim_is_one_request(placed):
    claims = placed.of('Attempting to claim resources in the placement API')
    assert len(claims) == 2
    for method, count in (('GET', 0), ('PUT', 2)):
        asked = [line for line in placed.of(f'REQ: curl -g -i -X {method} ')
                 if f'/allocations/{placed.instance}' in line]
        assert len(asked) == count, method


def test_skipped_host_without_a_candidate_is_logged(refused):
    skipped = refused.of('did not have a matching allocation_request was '
                         'encountered while scheduling.')
    assert skipped
    for line in skipped:
        assert f"A host state with uuid = '{B}' that did not have" in line


def test_claims_of_a_failed_request_are_cleaned_up(refused, placement):
    assert refused.order(
        'Selected host: ', 'Unable to successfully claim against any host',
        'Cleaning up allocations for ') == [
            'Selected host: ', 'Unable to successfully claim against any host',
            'Cleaning up allocations for ']
    [line] = refused.of('Cleaning up allocations for ')
    instances = re.findall(r'[-0-9a-f]{36}',
                           line.partition('allocations for ')[2])
    released = http_placement.written(placement, claims=False)
    assert [instance for instance in instances
            if f'/allocations/{instance}' in released]


def test_missing_candidates_are_logged_at_info(stage, daemon, placement):
    placement.on('GET', '/allocation_candidates', http_placement.candidates())
    with pytest.raises(exception.NoValidHost):
        stage.client().ask(request_id=REQUEST_ID.format(3))
    placement.on('GET', '/allocation_candidates', CANDIDATES)

    [line] = Trail(daemon, REQUEST_ID.format(3)).of(
        'Got no allocation candidates from the Placement API.')
    assert ' INFO ' in line
