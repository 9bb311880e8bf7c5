create or replace function planledger.comment_snapshot_of(p_task_id text)
returns planledger.comment_snapshot
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  c_utc constant text := 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"';
  v_snapshot comment_snapshot;
begin
  -- One statement, and so one committed state. A comment goes with its plan, so its head does too.
  select p_task_id, p.id, coalesce(h.revision, 0), coalesce((
      select jsonb_agg(jsonb_build_object(
          'id', c.id, 'task_id', c.task_id, 'plan_id', c.plan_id,
          'body', c.body, 'selected_text', c.selected_text,
          'anchor_from', c.anchor_from, 'anchor_to', c.anchor_to, 'version', c.version,
          'created_at', to_char(c.created_at at time zone 'UTC', c_utc),
          'updated_at', to_char(c.updated_at at time zone 'UTC', c_utc))
        order by c.created_at, c.id)
      from plan_comments c where c.task_id = p_task_id), '[]')
  into v_snapshot
  from (select p_task_id as task_id) t
    left join plans p on p.task_id = t.task_id
    left join plan_comment_heads h on h.task_id = t.task_id;
  return v_snapshot;
end
$$;

comment on function planledger.comment_snapshot_of(text) is
  'The pending comments of p_task_id and their revision, in one committed state.';
