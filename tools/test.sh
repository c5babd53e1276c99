#!/usr/bin/env bash
# Runs the tests.  Where it may, it installs the Debian packages that these
# need; where it may not, it says which tests cannot run.
#
#   ./tools/test.sh [--everything] [--require-all] [ARGUMENT OF PYTEST ...]
#
# --everything: also those of other releases of oslo.messaging, of what is
# installed, of a container made by the Containerfile's steps, of pages in a
# browser and of alerts by a real Prometheus, seven times as many questions to a
# real nova-scheduler, properties on four times as many examples, the nodes of
# a RabbitMQ cluster killed in each order instead of one, each program
# started for itself instead of forked by one that has imported it, and in the
# end what takes hours: the search for NUMA cells on far more examples, a soak,
# and mutation.
# --require-all: tests that cannot run are a failure.
#
# What does not depend on each other runs side by side.
set -u
source "$(dirname "$0")/venv.sh"
cd "$top"

everything='' require_all=${NOVA_SCHED_TEST_REQUIRE_ALL:-}
while :; do
    case ${1:-} in
        --everything) everything=1 ;;
        --require-all) require_all=1 ;;
        *) break ;;
    esac
    shift
done

# Hundreds of programs are started: each is ready sooner when what Python has
# compiled is kept.
unset PYTHONDONTWRITEBYTECODE

failed=0
logs=$(mktemp -d)
declare -A jobs=()

# Kills what still runs beside, if it is interrupted.
clean_up() {
    trap - EXIT
    for job in "${jobs[@]}"; do
        kill -- "-$job" 2>/dev/null
    done
    rm -rf "$logs"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# Starts a command in the background, by a name.
beside() {
    local name=$1
    shift
    set -m
    "$@" >"$logs/$name" 2>&1 </dev/null &
    jobs[$name]=$!
    set +m
}

# Whether what was started by a name has done well, with what it has said.
done_well() {
    local status
    [ -n "${jobs[$1]:-}" ] || return 0
    wait "${jobs[$1]}"
    status=$?
    unset "jobs[$1]"
    cat "$logs/$1"
    return $status
}

heading() {
    echo "== $(date +%T) $*"
}

# What cannot run: is a failure if everything is required.
not_run() {
    echo "NOT RUN: $1"
    [ -z "$require_all" ] || failed=1
}

cores=$(nproc)
make_python || exit 1
if [ -x /usr/sbin/rabbitmq-server ] || may_install; then
    beside nova tools/nova-venv.sh
fi
heading 'Making .venv'
make_venv || exit 1
export PATH=$venv/bin:/usr/sbin:$PATH

profiles=(test ${everything:+everything})
missing=$(bindep --brief "${profiles[@]}")
if [ -n "$missing" ] && may_install; then
    # shellcheck disable=SC2086
    beside packages install_packages $missing
fi
beside docs sphinx-build -q -W --keep-going -b html doc/source doc/build/html
heading 'Unit tests'
[ -z "$everything" ] || export NOVA_SCHED_TEST_ALL_EXAMPLES=yes
# They wait some of the time.
pytest -n $((2 * cores)) --all-log-lines tests/unit tests/properties "$@" ||
    failed=1
heading 'The documentation as a site'
done_well docs || failed=1
done_well packages
missing=$(bindep --brief "${profiles[@]}")

suites=(tests/functional)
if [ -n "$everything" ]; then
    export NOVA_SCHED_TEST_EACH=${NOVA_SCHED_TEST_EACH:-7}
    export NOVA_SCHED_TEST_EXEC=yes
else
    suites+=(--ignore=tests/functional/test_messaging_versions.py
             --ignore=tests/functional/test_packaging.py
             --ignore=tests/functional/test_container.py
             --ignore=tests/functional/test_pages_in_a_browser.py
             --ignore=tests/functional/test_alerts.py)
fi
if [ -n "$missing" ]; then
    heading 'Functional tests, embedded only'
    pytest -n "$cores" -m 'not real' "${suites[@]}" "$@" || failed=1
    not_run "the functional tests on a real RabbitMQ, MariaDB and PostgreSQL, \
and the interop tests. They need these packages: $missing"
else
    if done_well nova; then
        suites+=(tests/interop)
    else
        not_run 'the interop tests. Nova cannot be installed'
    fi
    heading 'Functional tests, and interop tests with a real Nova'
    # They wait for others most of the time; there are services for 16.
    tools/with-services.sh pytest -n $((cores > 5 ? 16 : 3 * cores)) \
        "${suites[@]}" "$@" || failed=1
fi
if [ -n "$everything" ]; then
    heading 'The search for NUMA cells, on far more examples'
    pytest --hypothesis-profile=search tests/properties/test_numa_search.py ||
        failed=1
    if [ -z "$missing" ]; then
        heading 'A soak'
        tools/with-services.sh python -m benchmarks.soak || failed=1
    else
        not_run 'the soak. It needs the same packages'
    fi
    heading 'Mutation; it goes on where it was stopped'
    { "$venv/bin/pip" install -q --disable-pip-version-check \
        -r tools/mutation/requirements.txt &&
        python -m tools.mutation .mutation; } || failed=1
fi
heading "$([ $failed = 0 ] && echo 'All is well' || echo 'Something failed')"
exit $failed
