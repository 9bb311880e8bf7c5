create or replace function planledger.reach_again(
  p_operation text,
  p_principal uuid,
  p_task_id text,
  p_scope text
)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  if not exists (select from tasks t where t.id = p_task_id) then
    perform refuse('task_not_found', p_operation, p_task_id);
  end if;
  perform reach(p_operation, p_principal, p_task_id, p_scope);
end
$$;

comment on function planledger.reach_again(text, uuid, text, text) is
  'Admits a caller once more, after the locks: until they were held the task could be deleted, made again elsewhere, or put out of reach. task_not_found where it has gone, else as reach.';
