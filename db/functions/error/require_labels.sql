create or replace function planledger.require_labels(
  p_operation text,
  p_task_id text,
  p_title text default null,
  p_request_id text default null
)
returns void
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  if not labels_are_valid(p_task_id, p_title, p_request_id) then
    perform require_label('task_id', p_task_id, p_operation, p_task_id);
    perform require_label('title', coalesce(nullif(p_title, ''), '-'), p_operation, p_task_id);
    perform require_label('request_id', coalesce(p_request_id, '-'), p_operation, p_task_id);
  end if;
end
$$;

comment on function planledger.require_labels(text, text, text, text) is
  'Refuses (validation_error) a task id, title or request id that is not 1 to 200 characters. An empty or absent title and an absent request id are allowed. Reads no state.';
