create or replace function planledger.reach_again(
  p_operation text,
  p_principal uuid,
  p_task_id text,
  p_scope text,
  p_hold boolean default true
)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  if p_hold then
    -- Until the transaction ends nobody takes the task, the caller or its scopes away, whatever it still waits for.
    perform from tasks t where t.id = p_task_id for key share;
    perform from principals p where p.id = p_principal for share;
  end if;
  if not exists (select from tasks t where t.id = p_task_id) then
    perform refuse('task_not_found', p_operation, p_task_id, p_reached => false);
  end if;
  perform reach(p_operation, p_principal, p_task_id, p_scope);
end
$$;

comment on function planledger.reach_again(text, uuid, text, text, boolean) is
  'Admits a caller once more, after the task''s locks: until they were held the task could be deleted, made again elsewhere, or put out of reach. With p_hold the task and the principal stay as they are until the transaction ends. task_not_found where the task has gone, else as reach.';
