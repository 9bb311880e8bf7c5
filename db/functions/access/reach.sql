create or replace function planledger.reach(
  p_operation text,
  p_principal uuid,
  p_task_id text,
  p_scope text,
  p_policy text default 'agent'
)
returns planledger.caller
language plpgsql stable
set search_path = planledger, pg_temp
set enable_seqscan = off  -- rows are looked up by key; a plan made while tables were small must not stay
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_caller caller;
begin
  if p_policy is null or p_policy not in ('agent', 'browser') then
    perform refuse_argument('policy', 'policy must be agent or browser.', p_operation, p_task_id, false);
  end if;

  select a.principal_id, a.author_kind, a.author_name, p_policy = 'agent' into v_caller
  from admissions a
  where a.principal_id = p_principal and a.task_id = p_task_id and p_scope = any (a.scopes);
  if not found then
    perform refuse('task_unreachable', p_operation, p_task_id, p_reached => false);
  end if;

  if p_policy = 'browser' and v_caller.author_kind <> 'user' then
    perform refuse_argument('policy', 'The browser policy is for user principals; this caller has the agent rules.',
      p_operation, p_task_id, true);
  end if;
  return v_caller;
end
$$;

comment on function planledger.reach(text, uuid, text, text, text) is
  'Admits p_principal to p_task_id with p_scope, or refuses (task_unreachable, the same for a task that does not exist). p_policy: agent, or browser, which only a user may ask for.';
