create or replace function planledger.version_check(
  p_operation text,
  p_task_id text,
  p_head planledger.plan_head,
  p_expected_version text,
  p_required boolean
)
returns void
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  if coalesce(p_expected_version, '') = '' then
    if p_required then
      perform refuse('plan_version_required', p_operation, p_task_id);
    end if;
  elsif p_expected_version is distinct from (p_head).version::text then
    perform refuse('plan_version_conflict', p_operation, p_task_id);
  end if;
end
$$;

comment on function planledger.version_check(text, text, planledger.plan_head, text, boolean) is
  'Holds p_expected_version against the state about to be changed: plan_version_conflict where it names another, plan_version_required where it is missing or empty and p_required. Any text may be passed; an unknown one is a conflict.';
