"""The output of ``request plan``, for programs and for people."""

import collections

from nova_sched import conf as config
from nova_sched.cmd.manage import forms
from nova_sched.cmd.manage import request
from nova_sched.cmd.manage import specs
from nova_sched.explain import offer as offers
from nova_sched.explain import words
from nova_sched.observe import decision_document
from nova_sched.observe import decision_view
from nova_sched.printable import printable
from nova_sched.rules import phrases
from nova_sched.scheduler import attempt

#: Version of the JSON object: the first number changes with incompatible
#: changes.
VERSION = '1.3'

COLUMNS = ('Instance', 'Host', 'Node', 'Zone', 'Weight', 'Alternates')
_FILTERS = ('Filter', 'Before', 'After', 'Rejected', 'Rejected hosts')
#: Most instances that have a line each.
_EACH = 10
#: Most hosts, or changes, that are named to people.
_SHOWN = 3


class PlanReport:
    """The result of one request.

    dry_run: dry_run.decider.DryRun, placed or refused.
    changes: changes of the databases since, texts; None if unknown.
    operation: one of dry_run.moves.OPERATIONS.  conf: ConfigOpts.
    changed: differences from the service's configuration, texts.
    explanation: explain.explanation.Explanation or NoExplanation.
    notes: remarks that the reader must know, sentences.
    """

    def __init__(self, dry_run, changes, operation, conf, changed,
                 explanation, notes):
        self._dry_run, self._changes = dry_run, changes
        self._record = dry_run.record
        self._view = decision_view.DecisionView.of(dry_run.record)
        self._operation, self._changed = operation, changed
        self._explanation, self._notes = explanation, notes
        self._filters = (config.enabled_filters(conf)
                         if dry_run.ranker is not None else [])
        self._driver = config.driver_name(conf)

    @property
    def fits(self):
        """Whether there is a host for each instance."""
        return self._view.is_placed

    @property
    def reason(self):
        """Why there is no host, in full; None if there is."""
        return self._record.reason

    def requested(self):
        """Return the request as a sentence; None if it is unknown."""
        spec_obj = self._dry_run.spec_obj
        return spec_obj and (
            f'Requested: {self._record.instances} x {_worded(spec_obj)}')

    def rows(self):
        """Return a row of COLUMNS for each instance, none for a refusal."""
        return [(pick.instance_uuid, selected.service_host,
                 selected.nodename, selected.availability_zone,
                 forms.number(pick.weight), request.hosts(others))
                for pick, (selected, *others) in self._placed()]

    def lines(self):
        """Return the rows as people read them.

        With many instances there is one row for instances of the same zone and
        weight, or of the same zone.
        """
        rows = self.rows()
        if len(rows) <= _EACH:
            return rows
        for alike in ((lambda row: (row[3], str(row[4]))),
                      (lambda row: row[3])):
            groups = {}
            for row in rows:
                groups.setdefault(alike(row), []).append(row)
            if len(groups) <= _EACH:
                break
        return [members[0] if len(members) == 1 else _together(members)
                for members in groups.values()]

    def _placed(self):
        return zip(self._record.picks, self._record.selections,
                   strict=True) if self.fits else ()

    def document(self):
        """Return all of it as plain JSON: a dict."""
        return {
            'version': VERSION, 'outcome': self._record.outcome,
            'reason': self.reason, 'code': self._record.refusal.code,
            'kind': self._kind,
            'codes': self._view.codes,
            'operation': self._operation,
            'request': {'id': self._record.request_id,
                        'instances': self._record.instances},
            'asked': None if self._dry_run.spec_obj is None else (
                decision_document.requested(self._dry_run.spec_obj)),
            'placements': [
                _placement(pick, selections) for pick, selections in zip(
                    self._view.picks, self._record.selections, strict=True)
            ] if self.fits else [],
            'filters': self._view.filters,
            'rejected': [{'name': rejected['rule'],
                          'hosts': rejected['named']}
                         for rejected in self._view.rejected()],
            'best': self._view.best,
            'seed': self._record.seed, 'notes': self._notes,
            **self._explanation.to_dict(),
            'placement': self._offer(), 'state': self._state(),
            'configuration': {
                'driver': self._driver, 'enabled_filters': self._filters,
                'changed': self._changed}}

    def _offer(self):
        candidates = self._view.fields['candidates']
        offer = {'asked': self._dry_run.offer.is_used,
                 'offered': candidates['providers']}
        return offer | {name: value for name, value in candidates.items()
                        if name == 'cut_at'}

    def _state(self):
        record, table = self._record, self._dry_run.table
        reads = record.state.reads or getattr(
            getattr(table, 'cells', None), 'reads', ())
        return {
            'hosts': self._hosts(),
            'cells': [{'uuid': uuid, 'read_at': decision_document.iso(began)}
                      for uuid, began in reads],
            'lost_cells': [{'cell': cell, 'reason': why}
                           for cell, why in record.state.lost],
            'decided_at': decision_document.iso(
                record.state.clock or record.arrived),
            'moved': None if self._changes is None else bool(self._changes),
            'changes': self._changes or []}

    def _hosts(self):
        return self._record.state.hosts or getattr(
            self._dry_run.table, 'size', 0)

    def write(self, out, write_table):
        """Write the text below the table of the instances.

        write_table: function of names of columns, and rows.
        The last line is for programs.
        """
        if not self.fits:
            out.write(f'No valid host: {printable(self.reason)}\n')
        funnel = list(self._funnel())
        if funnel:
            write_table(_FILTERS, funnel)
        for line in (*self._explanation.sentences(), *self._notes,
                     self._offer_line(), *self._state_lines(), self.line()):
            out.write(f'{printable(line)}\n')

    def _funnel(self):
        """Yield a row of _FILTERS for each rule, of the first instance.

        Hosts that it rejected for later instances are counted as well.
        """
        rejected = {hosts['rule']: hosts for hosts in self._view.rejected()}
        for step in self._view.filters:
            if step['instance']:
                break
            hosts = rejected.pop(step['name'], {'hosts': 0, 'named': ()})
            yield (step['name'], step['before'], step['after'],
                   hosts['hosts'], _some(sorted(
                       {host['host'] for host in hosts['named']},
                       key=phrases.natural)))

    def _offer_line(self):
        offer = self._offer()
        if not offer['asked']:
            return 'Placement is not used.'
        text = f'Placement offers {offer["offered"]} resource provider(s).'
        return f'{text} {offers.cut(offer["cut_at"])}.' if (
            'cut_at' in offer) else text

    def _state_lines(self):
        state = self._state()
        read = ', '.join(f'cell {cell["uuid"]} read at {cell["read_at"]}'
                         for cell in state['cells'])
        yield f'State: {state["hosts"]} host(s); {read or "no cell was read"}.'
        for cell in state['lost_cells']:
            yield f'Cell {cell["cell"]} cannot be read: {cell["reason"]}'
        if self._changes is None:
            yield 'Whether the state has moved since is not known.'
        elif self._changes:
            yield ('The state has moved since: '
                   f'{_some(self._changes, "; ")}.')
        if self._changed:
            yield f'Decided with {", ".join(self._changed)}.'

    def line(self):
        """Return the outcome as one line of NAME=VALUE."""
        placed = len(self._record.selections) if self.fits else 0
        return (f'plan: outcome={self._record.outcome} placed={placed} '
                f'of={self._record.instances} hosts={self._hosts()} '
                f'filter={self._last_filter()} '
                f'code={self._record.refusal.code or "-"} '
                f'kind={self._kind or "-"}')

    @property
    def _kind(self):
        return self._explanation.kind(self._record.refusal.kind)

    def _last_filter(self):
        """Return the rule that left no host; '-' for none."""
        if self.fits:
            return '-'
        if self._dry_run.offer.is_used and not self._dry_run.offer.providers:
            return attempt.OFFERED.replace(' ', '_')
        return next((step['name'].replace(' ', '_')
                     for step in reversed(self._view.filters)
                     if not step['after']), '-')


def _placement(pick, selections):
    """Return the host of an instance as plain JSON: dict.

    pick: element of DecisionView.picks.  selections: list of Selection.
    """
    selected, *others = selections
    return {
        'instance': pick['instance'], 'host': selected.service_host,
        'node': selected.nodename, 'zone': selected.availability_zone,
        'cell': selected.cell_uuid, 'weight': pick['weight'],
        'weighers': [{name: value for name, value in part.items()
                      if name != 'score'} for part in pick['weighers']],
        'limits': request.limits(selected).machine_readable(),
        'alternates': [
            {'host': other.service_host, 'node': other.nodename,
             'zone': other.availability_zone} for other in others]}


def _worded(spec_obj):
    """Return the sizes of each instance of a request, as text."""
    fields = decision_document.requested(spec_obj)
    cells, devices = (len(spec_obj.numa_topology or ()), sum(
        request.count for request in (
            spec_obj.pci_requests.requests if spec_obj.pci_requests else ())))
    amounts = [words.counted(fields['vcpus'], 'VCPU'),
               f'{fields["memory_mb"]:,} MB', f'{fields["disk_gb"]:,} GB']
    if fields['swap_mb']:
        amounts.append(f'{fields["swap_mb"]:,} MB of swap')
    if cells:
        amounts.append(words.counted(cells, 'NUMA cell'))
    if devices:
        amounts.append(words.counted(devices, 'PCI device'))
    text = ', '.join(amounts)
    return text if fields['flavor'] in (None, specs.UNNAMED) else (
        f'{fields["flavor"]}: {text}')


def _together(rows):
    """Return one row for several instances, with the number on each host."""
    hosts, nodes = (_some([
        name if count == 1 else f'{name} x {count}' for name, count in sorted(
            collections.Counter(row[place] for row in rows).items(),
            key=lambda item: (-item[1], phrases.natural(item[0])))])
        for place in (1, 2))
    weights = dict.fromkeys(str(rows[at][4]) for at in (0, -1))
    return (f'{len(rows):,} instances', hosts, nodes, rows[0][3],
            ' to '.join(weights), '')


def _some(texts, separator=', '):
    """Return the first texts as one, with the number of the others."""
    return words.examples(texts[:_SHOWN], len(texts), separator)
