"""The server group of an instance."""

from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects.fields import Field

_NAMES = fields.list_of(fields.NAME, bounds.GROUP_MEMBERS)
POLICIES = ('affinity', 'anti-affinity', 'soft-affinity',
            'soft-anti-affinity')

#: The version that added policy and rules to a group (Rocky).
_POLICY_SINCE = (1, 11)
#: The last version before it.
_BEFORE_POLICY = '1.10'


@base.Registry.register
class InstanceGroup(base.NovaObject, base.DictCompat):
    """A server group with one policy.

    members: uuids of instances.  hosts: names of the members' hosts.
    ``policy`` and ``policies`` agree, whichever the sender sets;
    ``policies`` has at most one entry.
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
        """Set the policy in both fields, from the one that the sender set."""
        self._old_form = self.policy is None and bool(self.policies)
        if self._old_form:
            self.policy = self.policies[0]
        self.policies = [] if self.policy is None else [self.policy]

    @property
    def counts_by_host(self):
        """Whether anti-affinity counts the group's hosts, not its members.

        True for senders before Rocky: their groups have an older version and
        no ``policy``.
        """
        return self._old_form or (
            base.version_tuple(self.wire_version) < _POLICY_SINCE)

    def obj_to_primitive(self, target_version=None, version_manifest=None):
        """Return the envelope, in a version with the same way of counting."""
        if self.counts_by_host:
            target_version = target_version or _BEFORE_POLICY
        return super().obj_to_primitive(target_version, version_manifest)

    @property
    def rules(self):
        """The rules: {'max_server_per_host': int}, or {}.

        Raises ValueError for a rule that is no integer.
        """
        most = (self._rules or {}).get('max_server_per_host')
        return {} if most is None else {'max_server_per_host': int(most)}
