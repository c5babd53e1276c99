"""A query to Placement for allocation candidates, in each version's words.

Names, forms and microversions of the parameters: Placement's API reference
and its history of microversions.
"""

import dataclasses
import re
import urllib.parse

import os_traits

from nova_sched.hosts.allocation_candidates import FORMS
from nova_sched.objects.base import version_tuple

#: What a query may ask for, and the first microversion that has words for
#: it.  Amounts, required traits and the limit are older than all of FORMS.
SINCE = {
    'aggregates': '1.21',
    'forbidden traits': '1.22',
    'several conditions on aggregates': '1.24',
    'request groups': '1.25',
    'in_tree of a request group': '1.31',
    'forbidden aggregates': '1.32',
    'request groups whose names are no numbers': '1.33',
    'traits of the root provider alone': '1.35',
    'same_subtree': '1.36',
    'request groups without amounts': '1.36',
    'any of several traits': '1.39',
}

#: Below it, traits of the root provider are asked of the unnumbered group.
_ROOT_TRAITS = version_tuple('1.35')
#: Below it, the one tree to look in is not said.
_IN_TREE = version_tuple('1.31')
#: Below it there is one group and no policy, and parameters have an order.
_GROUPS = version_tuple('1.25')
_OLDEST_ORDER = ('resources', 'limit', 'required')

#: What the scheduler itself asks of every host.  Releases of Placement
#: before Train, the first with 1.32, refuse any query that names these
#: traits, and hosts of that age do not have them: there they are left out.
OWN_REQUIRED = frozenset((os_traits.OWNER_NOVA,))
OWN_FORBIDDEN = frozenset((os_traits.COMPUTE_STATUS_DISABLED,))
_OWN_TRAITS = version_tuple('1.32')

_NUMBER = re.compile(r'[1-9][0-9]*')
#: How a trait begins that stands for any of several: ``in:A,B``.
ANY_OF = 'in:'


@dataclasses.dataclass
class Group:
    """What is asked of one provider; of a whole tree if it has no number.

    resources: resource class -> amount.  required: traits; ``in:A,B`` is any
    of these.  member_of: lists of aggregate uuids, one of each of which must
    be met.  in_tree: uuid of a provider in the tree, or None.
    """

    resources: dict = dataclasses.field(default_factory=dict)
    required: set = dataclasses.field(default_factory=set)
    forbidden: set = dataclasses.field(default_factory=set)
    member_of: list = dataclasses.field(default_factory=list)
    forbidden_aggregates: set = dataclasses.field(default_factory=set)
    in_tree: str | None = None

    def __bool__(self):
        """Return whether it asks for anything, apart from where to look."""
        return bool(self.resources or self.required or self.forbidden
                    or self.member_of or self.forbidden_aggregates)

    def drop_zeros(self):
        """Forget resource classes of which nothing is wanted."""
        self.resources = {name: amount for name, amount
                          in self.resources.items() if amount}

    def needs(self, suffix):
        """Return what of SINCE the group needs: a set.

        suffix: its name, '' of the unnumbered group.
        """
        needs = {
            'aggregates': self.member_of,
            'several conditions on aggregates': len(self.member_of) > 1,
            'forbidden traits': self.forbidden,
            'forbidden aggregates': self.forbidden_aggregates,
            'any of several traits': self._any_of(),
            'request groups': suffix,
            'request groups whose names are no numbers':
                suffix and not _NUMBER.fullmatch(suffix),
            'request groups without amounts': suffix and not self.resources,
            'in_tree of a request group': suffix and self.in_tree}
        return {what for what, needed in needs.items() if needed}

    def parameters(self, suffix):
        """Yield the group as parameters of a query: (name, value) each."""
        any_of = self._any_of()
        traits = [*sorted(self.required.difference(any_of)),
                  *(f'!{trait}' for trait in sorted(self.forbidden))]
        if self.resources:
            yield f'resources{suffix}', ','.join(
                f'{name}:{amount}'
                for name, amount in sorted(self.resources.items()))
        if traits:
            yield f'required{suffix}', ','.join(traits)
        for trait in any_of:
            yield f'required{suffix}', trait
        for aggregates in self.member_of:
            yield f'member_of{suffix}', f'in:{",".join(sorted(aggregates))}'
        if self.forbidden_aggregates:
            joined = ','.join(sorted(self.forbidden_aggregates))
            yield f'member_of{suffix}', f'!in:{joined}'
        if self.in_tree:
            yield f'in_tree{suffix}', self.in_tree

    def _any_of(self):
        return [trait for trait in self.required if trait.startswith(ANY_OF)]


@dataclasses.dataclass
class ResourceRequest:
    """All that one query asks for.

    groups: suffix -> Group; '' is the unnumbered one, which is always there.
        Its ``in_tree`` is the one host that the request may go to.
    group_policy: 'none', 'isolate' or None.
    same_subtree: lists of suffixes.  root_required, root_forbidden: traits.
    limit: most candidates to answer with; None for all.
    """

    groups: dict = dataclasses.field(default_factory=lambda: {'': Group()})
    group_policy: str | None = None
    same_subtree: list = dataclasses.field(default_factory=list)
    root_required: set = dataclasses.field(default_factory=set)
    root_forbidden: set = dataclasses.field(default_factory=set)
    limit: int | None = None

    def beyond(self, version):
        """Return what is asked for that a microversion has no words for.

        A list of texts with the first that has: 'same_subtree (1.36)'.
        """
        needs, known = self._needs(), version_tuple(version)
        return [f'{what} ({since})' for what, since in SINCE.items()
                if what in needs and version_tuple(since) > known]

    def minimum_version(self):
        """Return the oldest of FORMS that can say all that is asked for: text.
        """
        return next(form for form in FORMS if not self.beyond(form))

    def query(self, version):
        """Return the query string as of one of FORMS, always in the same
        order.

        The narrowing to one host and the traits that the scheduler itself
        asks for (OWN_REQUIRED, OWN_FORBIDDEN) are left out where there are
        no words for them; hosts are looked at again later.  Raises
        ValueError if anything else cannot be said.
        """
        beyond = self.beyond(version)
        if beyond:
            raise ValueError(
                f'Microversion {version} of Placement has no words for '
                f'{", ".join(beyond)}')
        known = version_tuple(version)
        pairs = self._request_level(known)
        for suffix, group in self._groups(known).items():
            pairs.extend(group.parameters(suffix))
        if known < _GROUPS:
            pairs.sort(key=lambda pair: _OLDEST_ORDER.index(pair[0]))
        else:
            pairs.sort()
        return urllib.parse.urlencode(pairs)

    def _needs(self):
        needs = set().union(*(group.needs(suffix) for suffix, group
                              in self.groups.items()))
        if self.same_subtree:
            needs.add('same_subtree')
        asked = self.root_forbidden - OWN_FORBIDDEN
        if asked:
            needs.add('forbidden traits')
        if (asked or self.root_required - OWN_REQUIRED) and (
                not self.groups[''].resources):
            needs.add('traits of the root provider alone')
        return needs

    def _request_level(self, known):
        pairs = [('same_subtree', ','.join(sorted(suffixes)))
                 for suffixes in self.same_subtree]
        if self.group_policy and known >= _GROUPS:
            pairs.append(('group_policy', self.group_policy))
        if self.limit is not None and not self._looks_elsewhere(known):
            pairs.append(('limit', str(self.limit)))
        if known >= _ROOT_TRAITS:
            root = Group(required=self.root_required,
                         forbidden=self.root_forbidden)
            pairs.extend((f'root_{name}', value)
                         for name, value in root.parameters(''))
        return pairs

    def _looks_elsewhere(self, known):
        """Return whether hosts are found that the request may not go to."""
        return self.groups[''].in_tree is not None and known < _IN_TREE

    def _groups(self, known):
        """Return the groups as they are asked for in a microversion."""
        group = self.groups['']
        if self._looks_elsewhere(known):
            group = dataclasses.replace(group, in_tree=None)
        # Without amounts of its own the group cannot have traits, either.
        if known < _ROOT_TRAITS and group.resources:
            required, forbidden = self.root_required, self.root_forbidden
            if known < _OWN_TRAITS:
                required = required - OWN_REQUIRED
                forbidden = forbidden - OWN_FORBIDDEN
            group = dataclasses.replace(
                group, required=group.required | required,
                forbidden=group.forbidden | forbidden)
        return {**self.groups, '': group}
