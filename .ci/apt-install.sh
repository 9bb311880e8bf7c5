#!/usr/bin/env bash
# apt-install.sh PACKAGE...: installs the Debian packages that are missing.
# Silent when there is nothing to do. The package lists are only refreshed
# when the install fails without it (a new machine has none).
set -euo pipefail

missing=()
for package in "$@"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "apt-install.sh: needs root to install: ${missing[*]}" >&2
  exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

apt() {
  DEBIAN_FRONTEND=noninteractive timeout --kill-after=30 "$1" \
    apt-get -y -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "${@:2}" >>"$log" 2>&1 </dev/null
}

echo "installing ${missing[*]}"
if ! apt 900 install --no-install-recommends "${missing[@]}"; then
  if ! { apt 300 update && apt 900 install --no-install-recommends "${missing[@]}"; }; then
    tail -n 40 "$log" >&2
    echo "apt-install.sh: could not install: ${missing[*]}" >&2
    exit 1
  fi
fi
