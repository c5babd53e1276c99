#!/usr/bin/env bash
# Measures each built-in filter and weigher on a big cloud in memory, as
# columns and host by host, and the NUMA fit; see benchmarks/README.md.
#
#   ./tools/benchmark-rules.sh [--hosts 10000] [--rows 1000]
set -eu
source "$(dirname "$0")/venv.sh"
make_venv
cd "$top"
exec "$venv/bin/python" -m benchmarks.rules "$@"
