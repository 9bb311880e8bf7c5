#!/usr/bin/env bash
# docker.sh        makes sure that a Docker engine answers; starts one if not
# docker.sh stop   stops the engine that an earlier docker.sh started, if any
#
# Silent when there is nothing to do. Everything an engine started here keeps
# (images, log, pid file) is under $PLANLEDGER_CI_CACHE:
#   docker/       data root      dockerd.log    log of the last start
#   dockerd.pid   exists while an engine started here runs
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PLANLEDGER_CI_CACHE:-/var/cache/planledger-ci}
data_root=$cache/docker
pid_file=$cache/dockerd.pid
log=$cache/dockerd.log

fail() {
  echo "docker.sh: $*" >&2
  exit 1
}

answers() {
  # The client exits with 0 in some versions when only the engine is missing,
  # so ask for something that only the engine knows.
  local version
  version=$(timeout 10 docker version --format '{{.Server.Version}}' 2>/dev/null) && [ -n "$version" ]
}

# Whether a process with this name, and with this pid if one is given, runs.
# (There is no pgrep on a minimal machine; and a dead process that nobody has
# waited for yet does not count.)
running() {
  # shellcheck disable=SC2086 # a pattern, to be expanded
  grep -qE "^[0-9]+ \\($1\\) [^ZX]" < <(cat /proc/${2:-[0-9]*}/stat 2>/dev/null)
}

# Prints the pid of the engine started here, if it still runs. A pid file left
# by a killed run may name a process that has nothing to do with Docker.
own_pid() {
  local pid
  pid=$(cat "$pid_file" 2>/dev/null) || return 1
  [[ $pid =~ ^[0-9]+$ ]] || return 1
  running dockerd "$pid" || return 1
  grep -qzxF -- "--data-root=$data_root" "/proc/$pid/cmdline" 2>/dev/null || return 1
  echo "$pid"
}

stop_own() {
  local pid
  if pid=$(own_pid); then
    kill "$pid" 2>/dev/null || true
    for _ in {1..100}; do
      running dockerd "$pid" || break
      sleep 0.2
    done
    if running dockerd "$pid"; then
      kill -KILL "$pid" 2>/dev/null || true
      for _ in {1..50}; do
        running dockerd "$pid" || break
        sleep 0.2
      done
    fi
  fi
  rm -f "$pid_file"
}

# Waits up to $1 seconds for the engine to answer; gives up early when process
# $2 (optional) ends.
wait_for_answer() {
  local end=$((SECONDS + $1))
  while [ "$SECONDS" -lt "$end" ]; do
    ! answers || return 0
    [ -z "${2:-}" ] || kill -0 "$2" 2>/dev/null || return 1
    sleep 0.3
  done
  return 1
}

# An engine may answer and yet be unable to run a container (cgroups, storage
# driver, packet filter), so run one with a published port: /bin/true and the
# libraries it needs, since no image can be pulled.
runs_containers() {
  local image=planledger-ci-probe result=0
  { echo /bin/true; ldd /bin/true | grep -o '/[^ ]*'; } | sed 's,^/,,' |
    tar -C / -chf - -T - 2>>"$log" |
    timeout 60 docker import - "$image" >>"$log" 2>&1 || return 1
  timeout 60 docker run --rm -p 127.0.0.1::5432 "$image" /bin/true >>"$log" 2>&1 || result=1
  timeout 60 docker rmi -f "$image" >>"$log" 2>&1 || true
  return "$result"
}

start() {
  local pid
  # Leftovers of killed engines. They only hinder while nothing is behind them.
  if ! running dockerd && ! running containerd; then
    rm -f /var/run/docker/containerd/containerd.pid /run/containerd/containerd.sock
  fi
  echo "--- dockerd $*" >>"$log"
  setsid dockerd --host="$socket" --data-root="$data_root" --pidfile="$pid_file" "$@" \
    >>"$log" 2>&1 </dev/null 9>&- &
  pid=$!
  if wait_for_answer 60 "$pid" && runs_containers; then
    return 0
  fi
  kill "$pid" 2>/dev/null || true
  stop_own
  return 1
}

case ${1:-start} in
  start) ! answers || exit 0 ;;
  stop) stop_own; exit 0 ;;
  *) fail "usage: docker.sh [start|stop]" ;;
esac

socket=${DOCKER_HOST:-unix:///var/run/docker.sock}
[[ $socket == unix://* ]] || fail "no Docker engine answers at DOCKER_HOST=$socket"
[ "$(id -u)" -eq 0 ] || fail "no Docker engine answers, and only root can start one"

mkdir -p "$cache"
exec 9>"$cache/docker.lock"
flock -w 300 9 || fail "another docker.sh has been at work for five minutes"
! answers || exit 0

command -v dockerd >/dev/null || "$here/apt-install.sh" docker.io 9>&-
# From Debian 13 on the client is a package of its own.
command -v docker >/dev/null || "$here/apt-install.sh" docker-cli 9>&-

# An engine that is just starting: the package's own service, or one that an
# earlier docker.sh, killed meanwhile, had started.
if running dockerd; then
  ! wait_for_answer 30 || exit 0
fi
stop_own
! running dockerd || fail "some dockerd runs, but does not answer at $socket"

echo "starting dockerd (log: $log)"
: >"$log"
without_filter=(--iptables=false --ip6tables=false --ip-masq=false)
if start ||
  start --storage-driver=vfs ||
  start "${without_filter[@]}" ||
  start --storage-driver=vfs "${without_filter[@]}"; then
  exit 0
fi
tail -n 40 "$log" >&2
fail "dockerd does not work on this machine"
