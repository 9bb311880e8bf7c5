create or replace function planledger.queue_of(p_task_id text, p_session_id text)
returns planledger.queue
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_queue queue;
begin
  select s.task_id, s.id, s.queue_incarnation, coalesce(l.entries, '[]'), coalesce(jsonb_array_length(l.entries), 0),
    s.queue_max, s.auto_run
  into v_queue
  from task_sessions s
    left join lateral (
      select jsonb_agg(jsonb_build_object(
          'id', q.id, 'client_queue_id', d.client_id, 'content', q.content, 'comments', q.comments,
          'plan_mode', q.plan_mode, 'author_kind', q.author_kind, 'author_name', q.author_name,
          'created_at', d.created_at, 'updated_at', q.updated_at) order by q.place) as entries
      from waiting_entries w
        join queue_entries q on q.task_id = w.task_id and q.id = w.id
        join deliveries d on d.task_id = w.task_id and d.id = w.id
      where w.task_id = s.task_id and w.session_id = s.id
    ) l on true
  where s.task_id = p_task_id and s.id = p_session_id;
  return v_queue;
end
$$;

comment on function planledger.queue_of(text, text) is 'The queue of a session as callers see it; all null where the task has no such session.';
