"""Values derived from several options, or read from their text."""

RESOURCES = ('cpu', 'ram', 'disk')


def service_down_time(conf):
    """Return the seconds without heartbeat after which a service is down.

    service_down_time if it is above report_interval.  Else every service would
    look down between two heartbeats, so it is 2.5 times report_interval, with
    a warning.
    """
    down_time, interval = conf.service_down_time, conf.report_interval
    if down_time > interval:
        return down_time
    return int(interval * 2.5)


def fallback_ratios(conf):
    """Return the ratios of hosts that report none: (cpu, ram, disk), floats.

    Each is X_allocation_ratio if set and not 0, else
    initial_X_allocation_ratio.
    """
    return tuple(
        conf[f'{resource}_allocation_ratio'] or
        conf[f'initial_{resource}_allocation_ratio']
        for resource in RESOURCES)


def parse_weights(items):
    """Read ``name=ratio`` items, as in [metrics] weight_setting.

    The text after the first ``=`` must be a number.  A name keeps the blanks
    before the ``=``, as in Nova, and then matches nothing.
    Returns (tuple of (name, float) in order, tuple of malformed items).
    """
    good, bad = [], []
    for item in items:
        name, _equals, number = item.partition('=')
        try:
            ratio = float(number)
        except ValueError:
            ratio = None
        if name.strip() and ratio is not None:
            good.append((name, ratio))
        else:
            bad.append(item)
    return tuple(good), tuple(bad)
