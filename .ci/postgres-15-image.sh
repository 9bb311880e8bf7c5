#!/usr/bin/env bash
# Builds the image planledger-postgres:15 (Debian's PostgreSQL 15 with
# plpgsql_check) without a container registry. Silent when the image is there
# and was built from these very scripts. Needs an engine: run docker.sh first.
set -euo pipefail
shopt -s extglob

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PLANLEDGER_CI_CACHE:-/var/cache/planledger-ci}
image=planledger-postgres:15
suite=bookworm
packages=postgresql-15,postgresql-15-plpgsql-check
label=planledger.sources
sources=$(cat "${BASH_SOURCE[0]}" "$here/postgres-15-entrypoint.sh" | sha256sum | cut -d' ' -f1)

fail() {
  echo "postgres-15-image.sh: $*" >&2
  exit 1
}

is_built() {
  [ "$(timeout 60 docker image inspect -f "{{index .Config.Labels \"$label\"}}" "$image" 2>/dev/null)" = "$sources" ]
}

! is_built || exit 0
timeout 60 docker info >/dev/null 2>&1 || fail "no Docker engine answers; run docker.sh first"
[ "$(id -u)" -eq 0 ] || fail "needs root"

mkdir -p "$cache"
exec 9>"$cache/postgres-15-image.lock"
flock -w 1800 9 || fail "another postgres-15-image.sh has been at work for half an hour"
! is_built || exit 0

"$here/apt-install.sh" debootstrap 9>&-

# Left by a killed run, which held the lock.
rm -rf --one-file-system "$cache"/postgres-15-build.*
build=$(mktemp -d "$cache/postgres-15-build.XXXXXX")
trap 'rm -rf --one-file-system "$build"' EXIT
rootfs=$build/rootfs
log=$build/log

# The archives this machine's apt uses, in both forms of its source lists,
# those of the wanted suite first. One that is not a Debian archive fails in
# debootstrap at its first step, the signature.
archives() {
  # shellcheck disable=SC2016 # these variables are apt's
  apt-get indextargets --no-release-info --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' \
    'Created-By: Packages' |
    awk -v suite="$suite" '$2 == "main" { print ($1 == suite ? 0 : 1), NR, $3 }' |
    sort -n -k1,1 -k2,2 | awk '!seen[$3]++ { print $3 }' |
    while read -r uri; do
      case $uri in
        # A file with a list of mirrors, as on Debian's cloud images.
        mirror+file:* | mirror:file:*)
          uri=${uri#*file:}
          uri=${uri%%*(/)}
          awk '!/^#/ && NF { print $1 }' "/${uri##*(/)}"
          ;;
        *) echo "$uri" ;;
      esac
    done
}

# debootstrap downloads with wget, which knows nothing of apt's proxy.
proxy=$(apt-config dump --format '%v%n' Acquire::http::Proxy)
if [ -n "$proxy" ] && [ "$proxy" != DIRECT ]; then
  export http_proxy=${http_proxy:-$proxy}
fi

# Downloads everything and unpacks the base system.
bootstrapped=
while read -r archive && [ -z "$bootstrapped" ]; do
  echo "downloading Debian $suite with PostgreSQL 15"
  rm -rf --one-file-system "$rootfs"
  if timeout --kill-after=10 900 debootstrap --foreign --variant=minbase --include="$packages" \
    "$suite" "$rootfs" "$archive" >>"$log" 2>&1 </dev/null 9>&-; then
    bootstrapped=1
  fi
done < <(archives)
if [ -z "$bootstrapped" ]; then
  [ ! -s "$log" ] || tail -n 40 "$log" >&2
  fail "none of apt's archives gave a Debian $suite with PostgreSQL 15"
fi

# No server and no cluster of Debian's own, no documentation; and since what
# is half written is thrown away anyway, no waiting for the disk.
install -D -m 755 <(printf '#!/bin/sh\nexit 101\n') "$rootfs/usr/sbin/policy-rc.d"
install -D -m 644 <(echo 'create_main_cluster = false') "$rootfs/etc/postgresql-common/createcluster.conf"
install -D -m 644 <(printf '%s\n' force-unsafe-io 'path-exclude=/usr/share/doc/*' \
  'path-exclude=/usr/share/man/*' 'path-exclude=/usr/share/locale/*') "$rootfs/etc/dpkg/dpkg.cfg.d/planledger"

# In namespaces of its own, so that no mount and no process outlives it.
echo "installing it"
if ! timeout --kill-after=10 900 unshare --mount --pid --fork --kill-child \
  chroot "$rootfs" /debootstrap/debootstrap --second-stage >>"$log" 2>&1 </dev/null 9>&-; then
  tail -n 40 "$log" "$rootfs/debootstrap/debootstrap.log" >&2 || true
  fail "could not install Debian $suite with PostgreSQL 15"
fi
# Under the official image's name, which testcontainers' withSSL() calls.
install -D -m 755 "$here/postgres-15-entrypoint.sh" "$rootfs/usr/local/bin/docker-entrypoint.sh"

echo "importing it as $image"
previous=$(timeout 60 docker image inspect -f '{{.Id}}' "$image" 2>/dev/null || true)
tar -C "$rootfs" --one-file-system --numeric-owner -c \
  --exclude='./proc/*' --exclude='./sys/*' --exclude='./dev/*' --exclude='./tmp/*' \
  --exclude='./var/cache/apt/*' --exclude='./var/lib/apt/lists/*' --exclude='./debootstrap' . |
  timeout --kill-after=10 600 docker import \
    -c 'ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
    -c 'ENV LANG=C.UTF-8' \
    -c 'ENV PGDATA=/var/lib/postgresql/data' \
    -c 'EXPOSE 5432' \
    -c "LABEL $label=$sources" \
    -c 'ENTRYPOINT ["docker-entrypoint.sh"]' \
    -c 'CMD ["postgres"]' \
    - "$image" >>"$log" 2>&1 || { tail -n 40 "$log" >&2; fail "docker import failed"; }

# Built from older scripts. Stays for as long as a container uses it.
[ -z "$previous" ] || timeout 60 docker rmi "$previous" >/dev/null 2>&1 || true
