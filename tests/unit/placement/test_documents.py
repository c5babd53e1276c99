"""Parsing of Placement's responses, and retry budgets."""

import json
import math

import pytest

from nova_sched.placement import adapter
from nova_sched.placement import documents
from nova_sched.placement.adapter import Response
from tests.builders.http_placement import a_candidate


def an_error(**error):
    return Response(400, json.dumps({'errors': [error, {'code': 'second'}]}))


class TestResponse:
    @pytest.mark.parametrize(('status', 'advice'), [
        (200, 'The server there is not Placement'),
        (399, 'The server there is not Placement'),
        (400, 'Correct the flavor, image'), (401, 'See the log of'),
        (403, 'Give the user of [placement] the role'),
        (404, 'Check that the endpoint of Placement'),
        (405, 'See the log of'), (406, 'It does not speak that'),
        (407, 'See the log of'), (408, 'See the log of'),
        (409, 'Another client has changed it; the next request may work'),
        (410, 'See the log of'), (428, 'See the log of'),
        (429, 'Something in front of Placement limits'),
        (430, 'See the log of'), (500, 'See the log of')])
    def test_advice_depends_on_status(self, status, advice):
        answer = Response(status, 'x')
        assert answer.advice.startswith(advice)
        assert str(adapter.RequestFailed('It fails.', answer)) == (
            f'It fails. Got {status}: x. {answer.advice}')

    def test_error_text_is_one_short_line(self):
        assert an_error(detail=' a\n b. ').error_text == 'a b'
        assert Response(500, 'x' * 501).error_text == 'x' * 500
        assert an_error(detail='').error_text.startswith('{"errors": ')
        assert an_error(code='c').error_code == 'c'

    @pytest.mark.parametrize('text', ['', '[]', '{}', '{"errors": 5}',
                                      '{"errors": []}', '{"errors": [5]}'])
    def test_response_without_error_has_no_code(self, text):
        assert Response(500, text).error_code is None
        assert Response(500, text).error_text == text

    def test_problem_replaces_missing_text(self):
        assert 'Got 500: nothing. ' in str(
            adapter.RequestFailed('x.', Response(500, '')))
        assert 'Got 200: it is odd. ' in str(adapter.RequestFailed(
            'x.', Response(200, 'words'), ValueError('it is odd')))


class TestCandidates:
    DOCUMENT = {'allocation_requests': [a_candidate('a'), a_candidate('b')],
                'provider_summaries': {'a': {}, 'parent': {}}}

    @pytest.mark.parametrize('odd', [
        {'allocations': {'b': {}}}, a_candidate('b', VCPU=2 ** 31),
        a_candidate('b', VCPU=10 ** 400), a_candidate('b', VCPU=math.inf),
        a_candidate('b', VCPU=math.nan), a_candidate('b', VCPU=-1),
        a_candidate('b', VCPU=1.5), a_candidate('b') | {'mappings': 7},
        None, 'b', ['b']])
    def test_invalid_candidate_hides_no_other(self, odd, caplog):
        found = documents.Candidates.of({
            **self.DOCUMENT,
            'allocation_requests': [odd, a_candidate('a')]})

        assert found.requests == [a_candidate('a')]
        assert {*found.by_provider} == {'a'}

    def test_invalid_candidate_is_logged_once(self, caplog):
        odd = a_candidate('odd', VCPU=math.nan)
        for _ in range(2):
            documents.Candidates.of({**self.DOCUMENT, 'allocation_requests': [
                a_candidate('a'), odd]})

        [line] = caplog.messages
        assert "'odd'" in line
        assert line.endswith('is invalid: nan is no amount of VCPU')


@pytest.mark.parametrize(('least', 'most', 'newest'), [
    ('1.18', '1.24', None), ('1.17', '1.17', '1.17'),
    ('1.25', '1.25', '1.25'), ('1.26', '1.28', None)])
def test_server_version_range_limits_choice(least, most, newest):
    supported = documents.MicroversionRange(least, most)
    assert supported.newest() == newest


class Server:
    """A Placement with a response time.

    answers: statuses, or errors.  asked: (method, timeout) of each request.
    """

    timeout = 5

    def __init__(self):
        self.now, self.took, self.answers, self.asked = 0, 0, [], []

    def request(self, method, path, version, request_id, timeout, **kwargs):
        assert (path, request_id) == ('/', 'req-1')
        self.asked.append((method, timeout))
        self.now += self.took
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, Exception):
            raise answer
        return Response(answer, '')


class TestRetryBudget:
    @pytest.fixture
    def server(self):
        return Server()

    @pytest.fixture
    def budget(self, server):
        return adapter.RetryBudget(server, 'req-1', clock=lambda: server.now)

    @pytest.fixture
    def release_budget(self, server):
        return adapter.RetryBudget(server, 'req-1', True, lambda: server.now)

    @pytest.mark.parametrize('failure', [500, 503, OSError('gone')])
    def test_three_failures_exhaust_budget(self, server, budget, caplog,
                                           failure):
        server.answers = [failure] * 3
        for _ in range(3):
            assert not budget.exhausted
            try:
                budget.request('PUT', '/')
            except OSError as error:
                assert error is failure
        assert budget.exhausted
        with pytest.raises(adapter.RetriesExhausted) as caught:
            budget.request('PUT', '/')
        assert [str(caught.value)] == caplog.messages == [
            'Placement has failed 3 times in a row and is not queried again '
            'for this request']
        assert server.asked == [('PUT', None), ('PUT', 10), ('PUT', 10)]

    @pytest.mark.parametrize(('method', 'exhausted'), [
        ('GET', True), ('PUT', False), ('DELETE', False)])
    def test_successful_write_resets_failures(self, server, budget, method,
                                              exhausted):
        """Reads may work while writes hang."""
        server.answers = [500, 500, 499, 500]
        for each in ('PUT', 'PUT', method, 'PUT'):
            budget.request(each, '/')
        assert server.asked[-1] == ('PUT', 10 if exhausted else None)
        assert budget.exhausted is exhausted

    @pytest.mark.parametrize(('took', 'requests'), [
        (1, None), (1.5, 27), (20, 2), (39, 2), (40, 1)])
    def test_waiting_time_exhausts_budget(self, server, budget, caplog, took,
                                          requests):
        """Twice [placement] timeout plus 30 seconds, without quick requests.
        """
        server.took, count = took, 0
        while not budget.exhausted and count < 50:
            budget.request('PUT', '/')
            count += 1
        assert count == (requests or 50)
        if requests:
            [line] = caplog.messages
            assert line == (
                f'This request has waited {took * requests:.0f} seconds for '
                'Placement, which is not queried again for it')

    def test_release_budget_is_renewed(self, server, release_budget, caplog):
        server.answers = [500, 500, 500, 500, 200, 500]
        for _ in range(3):
            release_budget.request('DELETE', '/')
        assert release_budget.exhausted
        release_budget.renew()
        with pytest.raises(adapter.RetriesExhausted,
                           match='the next attempt follows a pause'):
            release_budget.request('DELETE', '/')
        server.now += adapter.RENEWAL_PAUSE
        release_budget.renew()
        release_budget.request('DELETE', '/')
        assert release_budget.exhausted    # The allowed request fails, too.
        server.now += adapter.RENEWAL_PAUSE
        release_budget.renew()
        for _ in range(2):
            release_budget.request('DELETE', '/')
        assert not release_budget.exhausted
        assert {seconds for _, seconds in server.asked} == {10}
        assert caplog.messages == []

    def test_release_budget_is_thirty_seconds(self, server, release_budget):
        server.took = 15
        for exhausted in (False, True):
            release_budget.request('DELETE', '/')
            assert release_budget.exhausted is exhausted
        server.now += 1
        release_budget.renew()
        release_budget.request('DELETE', '/')
        assert not release_budget.exhausted
