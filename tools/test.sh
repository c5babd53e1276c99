#!/usr/bin/env bash
# Runs all tests.  Where it may, it installs the Debian packages that these
# need; where it may not, it says which tests cannot run.
#
#   ./tools/test.sh [--require-all] [ARGUMENT OF PYTEST ...]
#
# --require-all: tests that cannot run are a failure.
set -u
source "$(dirname "$0")/venv.sh"
cd "$top"

require_all=${NOVA_SCHED_TEST_REQUIRE_ALL:-}
if [ "${1:-}" = --require-all ]; then
    require_all=1
    shift
fi

make_venv || exit 1
export PATH=$venv/bin:/usr/sbin:$PATH

missing=$(bindep --brief test)
if [ -n "$missing" ] && may_install; then
    # shellcheck disable=SC2086
    install_packages $missing
    missing=$(bindep --brief test)
fi

# What cannot run: is a failure if everything is required.
not_run() {
    echo "NOT RUN: $1"
    [ -z "$require_all" ] || failed=1
}

failed=0
echo '== The documentation as a site'
sphinx-build -q -W --keep-going -b html doc/source doc/build/html || failed=1
echo '== Unit tests'
pytest tests/unit tests/properties "$@" || failed=1
if [ -z "$missing" ]; then
    echo '== Functional tests, on real servers as well as embedded'
    tools/with-services.sh pytest tests/functional "$@" || failed=1
else
    echo '== Functional tests, embedded only'
    pytest tests/functional -m 'not real' "$@" || failed=1
    not_run "the functional tests on a real RabbitMQ, MariaDB and PostgreSQL. \
They need these packages: $missing"
fi
echo '== Interop tests, with a real Nova'
if [ -n "$missing" ]; then
    not_run 'the interop tests. They need the same packages'
elif tools/nova-venv.sh; then
    tools/with-services.sh pytest tests/interop "$@" || failed=1
else
    not_run 'the interop tests. Nova cannot be installed'
fi
exit $failed
