"""Hosts a request has been tried on."""

from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import compute_node
from nova_sched.objects import fields
from nova_sched.objects.fields import Field
from nova_sched.objects.fields import MalformedError


@base.Registry.register
class SchedulerRetries(base.NovaObject):
    """How often and where a build has failed so far."""

    VERSION = '1.1'
    fields = {
        'num_attempts': Field(fields.SIZE, unset=1),
        'hosts': Field(fields.nested(compute_node.ComputeNodeList),
                       unset=compute_node.ComputeNodeList),
    }

    @classmethod
    def from_dict(cls, retry):
        """Return one of {'num_attempts': n, 'hosts': [[host, node], ...]}.

        An envelope is taken as well; anything empty gives None.
        Raises MalformedError.
        """
        if not retry:
            return None
        if isinstance(retry, cls):
            return retry
        if not isinstance(retry, dict):
            raise MalformedError(retry, 'must be a dict')
        if 'nova_object.name' in retry:
            return cls.from_envelope(retry)
        pairs = retry.get('hosts') or []
        try:
            nodes = _NODES.read(pairs)
        except MalformedError as error:
            error.under('hosts')
            raise
        return cls.from_data(
            {'num_attempts': retry.get('num_attempts'),
             'hosts': compute_node.ComputeNodeList(objects=nodes)},
            cls.VERSION)

    def to_dict(self):
        """Return {'num_attempts': n, 'hosts': [[host, node], ...]}."""
        return {'num_attempts': self.num_attempts,
                'hosts': [[node.host, node.hypervisor_hostname]
                          for node in self.hosts]}


def _node(pair):
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(
            name is None or isinstance(name, str) for name in pair):
        raise MalformedError(pair, 'must be [host, node]')
    return compute_node.ComputeNode(host=pair[0], hypervisor_hostname=pair[1])


_NODES = fields.list_of(fields.Kind(_node), bounds.RETRIES)
