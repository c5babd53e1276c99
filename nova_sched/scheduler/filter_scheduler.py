"""The filter scheduler: filter the hosts, weigh what is left, pick the best.

``FilterScheduler.select_destinations``:

1. Read the hosts, after the request arrived (``_read_hosts``: the database),
   and where the instances run that the request names (``_look_up``).
2. Decide on a private snapshot (``placing.Placing``), which claims in
   Placement if that made an offer.
   Rules that have to ask somebody else, or look at all instances, do so before
   (``_ask_ahead``, ``_list_ahead``).
3. What was not claimed is in flight from then on, for all requests to see
   (``portions``). If another request has taken some of it meanwhile, decide
   once more; if another driver has taken over, there (``_remembered``).
"""

import contextlib
import functools

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.hosts import offer as placement_offer
from nova_sched.plugins import loading as plugins
from nova_sched.plugins import nova_methods
from nova_sched.plugins.by_rows import placing as by_rows
from nova_sched.scheduler import driver
from nova_sched.scheduler import placing
from nova_sched.scheduler import portions
from nova_sched.scheduler import scheduler_options
from nova_sched.scheduler.claims import Claims
from nova_sched.scheduler.client import report

LOG = logging.getLogger(__name__)

#: From which try on nobody else may commit while a request is decided, unless
#: it is slow, and how often it is decided at most.
TRIES, MOST_TRIES = 3, 10


class FilterScheduler(driver.HostScheduler):
    """Decides every request on state that was read after it arrived."""

    ONE_PROCESS = False
    NOTIFIES = True
    NOVA_METHODS = nova_methods.DRIVER | nova_methods.FILTER_SCHEDULER

    def __init__(self, conf):
        super().__init__(conf)
        self.ranker = plugins.load_ranker(conf)
        self._options = scheduler_options.SchedulerOptions(
            conf.scheduler_json_config_location)
        #: The driver that has taken over, at a reload of the configuration.
        self.successor = None
        self._choice = placing.Choice.of(conf)

    @functools.cached_property
    def placement_client(self):
        """Asks Placement on behalf of plug-ins: SchedulerReportClient."""
        return report.SchedulerReportClient(self.conf)

    def take_over(self, predecessor):
        if isinstance(predecessor, FilterScheduler):
            predecessor.successor = self
            try:
                self.host_manager.take_over(predecessor.host_manager)
            except BaseException:
                predecessor.successor = None
                raise

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False,
                            offer=placement_offer.NOT_ASKED, record=None):
        wanted = placing.Wanted(
            spec_obj, instance_uuids, self.count(spec_obj, instance_uuids),
            self._max_attempts - 1 if return_alternates else 0,
            context, self._get_configuration_options())
        record = self.opened(record, context, wanted, offer)
        try:
            return self._decided(wanted, record)
        except exception.DatabaseUnavailable as exc:
            lost = dict(self.host_manager.lost_cells())
            # What is given back late must not be what is claimed anew.
            if record.claims or lost.keys() <= dict(record.lost).keys():
                raise
            error = exc
        LOG.info('Deciding once more, without the hosts of a cell that fell '
                 'silent meanwhile: %s', error)
        record.restart()
        self.host_manager.refresh()
        return self._decided(wanted, record)

    def _get_configuration_options(self):
        """What filters and weighers get as ``config_options``: dict."""
        return self._options.get_configuration()

    def _decided(self, wanted, record):
        """The answer to a request, on hosts that are read for it."""
        with record.timed('state'), record.budget.not_spent():
            self._read_hosts()
            found = self._look_up(wanted)
        self._list_ahead(wanted, found, record)
        if Claims(record.offer, wanted.instance_uuids, record).claiming:
            return self._claimed(wanted, found, record)
        return self._remembered(wanted, found, record)

    def _read_hosts(self):
        """Bring the hosts up to date."""
        self.host_manager.refresh()

    def _look_up(self, wanted):
        """Where the instances are that a request names: Instances."""
        found = self.host_manager.instances(wanted.keys())
        with _without_database():
            found.look_up(wanted.spec_obj, wanted.instance_uuids or ())
        return found

    def _list_ahead(self, wanted, found, record):
        """Have the instances of all hosts listed if rules look at them.

        In the turn others would wait for it; the request pays for the work.
        """
        if self.ranker.lists_instances(wanted.spec_obj):
            with record.timed('instances'), _without_database():
                found.list_all()

    def _remembered(self, wanted, found, record):
        """The answer to a request whose picks only this process knows of."""
        self._ask_ahead(wanted, found, record)
        for number in range(1, MOST_TRIES + 1):
            if number > 1:
                record.restart()
            answer = portions.Portions(self, wanted, found, record).decided(
                alone=max(0, number - TRIES + 1))
            if answer is not None:
                return answer
            if self.successor is not None:
                record.restart()
                return self.successor.select_destinations(
                    wanted.context, wanted.spec_obj, wanted.instance_uuids,
                    wanted.most_alternates > 0, record.offer, record)
        raise exception.InvalidInput(reason=(
            f'the request was decided {MOST_TRIES} times, and each time so '
            'slowly that others were given meanwhile what it had chosen, or '
            'hosts came or went; ask for less at a time, or once more when '
            'there are fewer requests'))

    def _ask_ahead(self, wanted, found, record):
        """Have rules ask others before the turn, for which requests wait."""
        if not self.ranker.asks(wanted.spec_obj):
            return
        with record.timed('ask'):
            _, hosts = self.hosts(wanted, found, record)
            self.ranker.ask_ahead(
                placing.offered(hosts.block(), record.offer),
                wanted.own_spec(), record.budget)

    def _claimed(self, wanted, found, record):
        """The answer to a request whose picks are claimed in Placement."""
        _, hosts = self.hosts(wanted, found, record)
        found.start_over()
        made, claims = self.placing(wanted, record)
        try:
            made.run(hosts, self.host_manager.siblings(wanted))
            return made.answer()
        except BaseException:
            claims.release()
            raise

    def check_set_up(self):
        self._place = by_rows.way(self)

    @functools.cached_property
    def _place(self):
        """Placing, or what is made as it."""
        return by_rows.way(self)

    def placing(self, wanted, record):
        """What places the instances of a request: Placing, and its Claims."""
        claims = Claims(record.offer, wanted.instance_uuids, record)
        return self._place(wanted, self.ranker, self._choice, claims, record,
                           self._default_zone), claims

    def note_in_flight(self, picks):
        """Called when a request is decided; picks: its list of InFlight."""

    def take_back(self, picks):
        """Have picks, a list of InFlight, in flight no longer.

        Neither here nor where a driver has taken over from this one.
        """
        self.host_manager.take_back(picks)
        if self.successor is not None:
            self.successor.take_back(picks)


@contextlib.contextmanager
def _without_database():
    """Go on without what a database does not answer.

    It matters only if a rule asks, which then fails with it.
    """
    try:
        yield
    except exception.DatabaseUnavailable as error:
        LOG.debug('Not looked up: %s', error)
