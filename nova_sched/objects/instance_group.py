"""The server group an instance belongs to."""

from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects.fields import Field
from nova_sched.objects.fields import MalformedError

_NAMES = fields.list_of(fields.NAME)
POLICIES = ('affinity', 'anti-affinity', 'soft-affinity',
            'soft-anti-affinity')


@base.Registry.register
class InstanceGroup(base.NovaObject):
    """A server group with one policy.

    members: uuids of instances.  hosts: names of the hosts they are on.
    ``policy`` and ``policies`` agree whichever the sender set; ``policies``
    has at most one entry.
    """

    VERSION = '1.11'
    fields = {
        'id': Field(fields.INTEGER),
        'user_id': Field(fields.TEXT, null=True),
        'project_id': Field(fields.TEXT, null=True),
        'uuid': Field(fields.NAME),
        'name': Field(fields.TEXT, null=True),
        'policies': Field(_NAMES, null=True, unset=list),
        'members': Field(_NAMES, null=True),
        'hosts': Field(_NAMES, null=True, since='1.10'),
        'policy': Field(fields.NAME, null=True, since='1.11'),
        '_rules': Field(fields.dict_of(fields.TEXT), null=True, unset=dict,
                        since='1.11'),
        **fields.PERSISTENT,
    }

    def settle(self):
        """Take the policy from where the sender put it; check the rules."""
        if self.policy is None and self.policies:
            self.policy = self.policies[0]
        self.policies = [] if self.policy is None else [self.policy]
        most = (self._rules or {}).get('max_server_per_host')
        if most is not None:
            try:
                fields.between(1, fields.MAX_INT).read(most)
            except MalformedError as error:
                error.under('max_server_per_host').under('_rules')
                raise

    @property
    def rules(self):
        """{'max_server_per_host': int} if the group has that rule, or {}."""
        most = (self._rules or {}).get('max_server_per_host')
        return {} if most is None else {'max_server_per_host': int(most)}
