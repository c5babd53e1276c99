"""The input of waiver rules: a question, both answers, and derived facts."""

import copy
import dataclasses
import math

RAISED = 'Nova itself raised, on what the specification says to tolerate'


@dataclasses.dataclass(frozen=True)
class Difference:
    """A recorded answer that differs from ours.

    name: the question: a filter, a weigher, ``chain``, ``total``, a family.
    stage: the Stage with the case's cloud.
    answer: function that returns our answer to a changed case.
    """

    case: dict
    name: str
    stage: object
    expected: object
    got: object
    answer: object

    @property
    def is_queens(self):
        """Whether it was recorded from Queens."""
        return self.case['era'] == 'queens'

    @property
    def spec(self):
        """The fields of the request."""
        return data(self.case)

    @property
    def extra_specs(self):
        """The extra specs of the request's flavor."""
        return extra_specs(self.case)

    @property
    def rules(self):
        """Names of the filters or weighers of the question."""
        if self.name == 'chain' or self.case['kind'] == 'schedule':
            return set(self.case['config'].get('filter_scheduler', {}).get(
                'enabled_filters', ()))
        if self.name == 'total':
            return set(self.case['configured_weighers'])
        return {self.name}

    def image_property(self, name):
        """A property of the request's image, or None."""
        image = self.spec.get('image')
        found = image and image['nova_object.data'].get('properties')
        return found and found['nova_object.data'].get(name)

    def never_reported(self):
        """[host, node] of nodes that never reported their usage: list."""
        return [[node['host'], node['hypervisor_hostname']]
                for node in self.living_nodes()
                if node['free_disk_gb'] is None]

    def living_nodes(self):
        """The rows of compute nodes without deleted ones."""
        return [node for node in self.stage.cloud['compute_nodes']
                if not node['deleted']]

    def changed(self):
        """A copy of the case, to be changed."""
        return copy.deepcopy(self.case)

    def ask(self, case):
        """Whether our answer to a changed case is the recorded one."""
        return same(self.expected, self.answer(case))

    def of(self, case):
        """The Difference for a changed case."""
        return dataclasses.replace(self, case=case, got=self.answer(case))


def is_error(answer, kind=None):
    """Whether an answer is an error, of a kind if given."""
    return (isinstance(answer, dict) and 'error' in answer
            and kind in (None, answer['error']))


def same(expected, got):
    """Whether two answers agree, floats to 1e-9.

    Two errors agree if they came after the same steps.
    """
    if is_error(expected) or is_error(got):
        return is_error(expected) and is_error(got) and all(
            same(expected[name], got[name]) for name in ('start', 'steps')
            if name in expected and name in got)
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(
            same(value, got[key]) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(
            map(same, expected, got))
    if isinstance(expected, (int, float)) and isinstance(got, (int, float)):
        return math.isclose(expected, got, rel_tol=1e-9, abs_tol=1e-9)
    return expected == got


def raising(difference):
    """The filter in which Nova raised and we did not.

    Returns (filter, its hosts as HostStates, [host, nodename] of the hosts
    that we pass); None if an earlier step differs, too.
    """
    case, expected, got = difference.case, difference.expected, difference.got
    if not is_error(expected) or is_error(got):
        return None
    states = difference.stage.hosts(
        case, difference.stage.conf(case)).block().states()
    if difference.name != 'chain':
        return difference.name, states, got
    chain = case['config'].get('filter_scheduler', {}).get('enabled_filters')
    done = expected.get('steps')
    if (chain is None or done is None or expected['start'] != got['start']
            or got['steps'][:len(done)] != done
            or len(got['steps']) == len(done)):
        return None
    left = done[-1][1] if done else expected['start']
    name, passing = got['steps'][len(done)]
    if name != chain[len(done)]:
        return None
    return name, [state for state in states
                  if [state.host, state.nodename] in left], passing


def data(case):
    """The fields of a case's request."""
    return case['request_spec']['nova_object.data']


def extra_specs(case):
    """The extra specs of a case's flavor."""
    return (data(case)['flavor']['nova_object.data'].get('extra_specs')
            or {})
