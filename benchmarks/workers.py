"""The resources of a daemon's workers."""

import psutil

RESOURCES = ('RSS MiB', 'threads', 'descriptors')


def resources(daemon):
    """Return the RESOURCES of all workers: list of texts."""
    workers = [psutil.Process(pid) for pid in daemon.workers]
    return ['/'.join(str(figure(worker)) for worker in workers) for figure in (
        lambda worker: worker.memory_info().rss >> 20,
        psutil.Process.num_threads, psutil.Process.num_fds)]
