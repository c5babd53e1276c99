"""benchmarks.burst counts the claims in Placement's log."""

from benchmarks import burst

_LINE = ('2026-01-02 03:04:05.678 1 INFO placement.requestlog [req-1 req-2 '
         'admin admin - - - -] 127.0.0.1 "{} /allocations{}" status: {} '
         'len: 0 microversion: {}')


def test_claims_are_writes_of_allocations_except_of_migrations():
    log = '\n'.join(_LINE.format(*fields) for fields in (
        ('PUT', '/uuid', 204, '1.36'), ('POST', '', 409, '1.36'),
        ('POST', '', 409, '1.37'), ('DELETE', '/uuid', 204, '1.36'),
        ('GET', '/uuid', 200, '1.36')))

    assert burst._claims(log) == (2, 1)
