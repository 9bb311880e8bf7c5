create or replace function planledger.comment_list(p_principal uuid, p_task_id text)
returns planledger.comment_snapshot
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'list_comments';
begin
  perform require_labels(c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'plan:read');
  return comment_snapshot_of(p_task_id);
end
$$;

comment on function planledger.comment_list(uuid, text) is
  'The pending comments of p_task_id, all of them, with the plan they are about and their revision; without a plan none, at revision 0. Takes no lock. Raises validation_error, task_unreachable.';
