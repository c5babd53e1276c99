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

# Has a Python that makes virtual environments.
make_python() {
    if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        may_install || {
            echo 'Install the package python3-venv and run this again' >&2
            return 1
        }
        install_packages python3-venv || return 1
    fi
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        echo "python3 is $(python3 --version 2>&1); 3.11 or newer is needed" >&2
        return 1
    }
}

# What is imported is compiled then: of most packages that is a part.
make_venv() {
    local stamp
    stamp=$(cd "$top" && cat requirements.txt test-requirements.txt \
        doc/requirements.txt pyproject.toml setup.cfg | sha256sum)
    [ "$(cat "$venv/stamp" 2>/dev/null)" = "$stamp" ] && return
    make_python || return 1
    echo "Making $venv; this takes a minute the first time"
    python3 -m venv "$venv" &&
        "$venv/bin/pip" install -q --disable-pip-version-check --no-compile \
            -r "$top/test-requirements.txt" -r "$top/doc/requirements.txt" \
            -e "$top" &&
        echo "$stamp" >"$venv/stamp"
}
