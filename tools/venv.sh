#!/usr/bin/env bash
# Sourced by the other tools: make_venv makes the project's virtual
# environment, .venv, with the project and what its tests need.  It does
# nothing when none of the files that name requirements has changed since.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$top/.venv

# Whether Debian packages can be installed here without asking anybody.
may_install() {
    command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true; } \
        2>/dev/null
}

install_packages() {
    local as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo -n)
    echo "Installing Debian packages: $*"
    "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

make_venv() {
    local stamp
    stamp=$(cd "$top" && cat requirements.txt test-requirements.txt \
        doc/requirements.txt pyproject.toml setup.cfg | sha256sum)
    [ "$(cat "$venv/stamp" 2>/dev/null)" = "$stamp" ] && return
    if ! command -v python3 >/dev/null && may_install; then
        install_packages python3-venv || return 1
    fi
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        echo "python3 is $(python3 --version 2>&1); 3.11 or newer is needed" >&2
        return 1
    }
    echo "Making $venv; this takes a minute the first time"
    if ! python3 -m venv "$venv" >/dev/null 2>&1; then
        may_install || {
            echo 'Install the package python3-venv and run this again' >&2
            return 1
        }
        install_packages python3-venv && python3 -m venv "$venv"
    fi &&
        "$venv/bin/pip" install -q --disable-pip-version-check \
            -r "$top/test-requirements.txt" -r "$top/doc/requirements.txt" \
            -e "$top" &&
        echo "$stamp" >"$venv/stamp"
}
