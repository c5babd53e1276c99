#!/usr/bin/env bash
# Measures the service beside an empty RPC echo, on a RabbitMQ and a MariaDB
# that it starts for itself; see benchmarks/README.md.
#
#   ./tools/benchmark.sh [--hosts 1000] [--callers 1,8] [--instances 1] ...
#
# The same behind a real Placement, and beside a real Nova:
#
#   ./tools/benchmark.sh placement [--hosts 1000] [--peer nova] ...
set -eu
source "$(dirname "$0")/venv.sh"
make_venv
cd "$top"
export PATH=$venv/bin:/usr/sbin:$PATH
if [ "${1:-}" = placement ]; then
    shift
    [ -n "${NOVA_SCHED_TEST_NOVA:-}" ] || tools/nova-venv.sh
    exec tools/with-services.sh python -m benchmarks.placement "$@"
fi
exec tools/with-services.sh bash -c '
    exec python -m benchmarks --transport-url "$NOVA_SCHED_TEST_RABBIT_URL" \
        --database-url "$NOVA_SCHED_TEST_MYSQL_URL" "$@"' benchmark "$@"
