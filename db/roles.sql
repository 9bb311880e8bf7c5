-- The roles and the schemas of Planledger, made once per server and database.
--
-- `planledger_owner` owns everything and cannot log in; `planledger_app` may call the
-- functions and touch no table; `planledger_reader` may read the inspection views.
-- `planledger_worker` runs jobs: it owns the job queue's schema, whose tables have row
-- security and so serve nobody else, and may call the functions that prune.
-- Roles belong to the whole server, so two databases may race to create one: the loser
-- finds it there.

do $$
declare
  v_role text;
begin
  foreach v_role in array array['planledger_owner', 'planledger_app', 'planledger_reader', 'planledger_worker'] loop
    if not exists (select from pg_roles where rolname = v_role) then
      begin
        execute format('create role %I nologin', v_role);
      exception
        when duplicate_object or unique_violation then null;  -- made by another database's migration
      end;
    end if;
  end loop;

  -- The migrating login works as the owner and the worker, and the server as the application.
  foreach v_role in array array['planledger_owner', 'planledger_app', 'planledger_worker'] loop
    if not pg_has_role(session_user, v_role, 'member') then
      begin
        execute format('grant %I to %I', v_role, session_user);
      exception
        when unique_violation then null;
      end;
    end if;
  end loop;

  -- What accepts a prompt gives it a job in the same transaction.
  if not pg_has_role('planledger_owner', 'planledger_worker', 'member') then
    grant planledger_worker to planledger_owner;
  end if;

  if not exists (select from pg_namespace where nspname = 'planledger') then
    create schema planledger authorization planledger_owner;
  end if;
  if not exists (select from pg_namespace where nspname = 'planledger_jobs') then
    create schema planledger_jobs authorization planledger_worker;
  end if;
end
$$;
