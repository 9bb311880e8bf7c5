#!/bin/bash
# The entrypoint of the image that postgres-15-image.sh builds. Behaves as the
# official postgres image does where tests can see it: POSTGRES_USER (default
# postgres), POSTGRES_PASSWORD, POSTGRES_DB (default: the user's name),
# POSTGRES_INITDB_ARGS, POSTGRES_HOST_AUTH_METHOD and PGDATA; arguments that
# start with a dash go to postgres; any other command runs as it is.
#
# Two differences: the database is prepared without a temporary server, so
# "ready to accept connections" is logged once, where the official image logs
# it twice; and /docker-entrypoint-initdb.d is not read.
set -euo pipefail

if [ $# -eq 0 ] || [ "${1:0:1}" = - ]; then
  set -- postgres "$@"
fi
if [ "$1" != postgres ]; then
  exec "$@"
fi

user=${POSTGRES_USER:-postgres}
database=${POSTGRES_DB:-$user}

if [ "$(id -u)" -eq 0 ]; then
  mkdir -p "$PGDATA" /run/postgresql
  chown postgres:postgres "$PGDATA" /run/postgresql
  chmod 700 "$PGDATA"
  chmod 2775 /run/postgresql
  export HOME=/var/lib/postgresql
  exec setpriv --reuid=postgres --regid=postgres --init-groups "${BASH_SOURCE[0]}" "$@"
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  auth=${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}
  if [ -z "${POSTGRES_PASSWORD:-}" ] && [ "$auth" != trust ]; then
    echo "POSTGRES_PASSWORD must not be empty" >&2
    exit 1
  fi
  # Several arguments may stand in POSTGRES_INITDB_ARGS.
  # shellcheck disable=SC2086
  initdb --pgdata="$PGDATA" --username="$user" --encoding=UTF8 --locale=C.UTF-8 --no-sync \
    ${POSTGRES_PASSWORD:+--pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD")} \
    ${POSTGRES_INITDB_ARGS:-}
  echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
  printf '\nhost all all all %s\n' "$auth" >>"$PGDATA/pg_hba.conf"
  if [ "$database" != postgres ]; then
    printf 'CREATE DATABASE "%s"\n' "${database//\"/\"\"}" |
      postgres --single -D "$PGDATA" -c exit_on_error=on postgres >/dev/null
  fi
fi

exec "$@"
