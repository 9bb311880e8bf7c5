create or replace function planledger.plan_get(p_principal uuid, p_task_id text)
returns table (
  id uuid,
  task_id text,
  title text,
  content text,
  version uuid,
  revision_number integer,
  revision_id uuid,
  content_bytes integer,
  content_chars integer,
  created_by text,
  created_at timestamptz,
  updated_at timestamptz,
  implementation_started_at timestamptz,
  implementation_started_session_id text,
  implementation_started_by text
)
language plpgsql stable security definer
set search_path = planledger, pg_temp
set enable_seqscan = off  -- rows are looked up by key; a plan made while tables were small must not stay
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  c_operation constant text := 'get';
  v_cause text;
begin
  -- The whole answer in one statement; why it finds nothing is asked only when it does.
  begin
    return query
      select p.id, p.task_id::text, r.title::text, case r.tail when '' then s.body else s.body || r.tail end,
        r.write_version, r.revision_number::integer, r.id, r.content_bytes::integer, r.content_chars::integer,
        p.created_by::text, p.created_at, r.updated_at,
        p.implementation_started_at, p.implementation_started_session_id::text, p.implementation_started_by::text
      from admissions a
        join plans p on p.task_id = a.task_id
        join plan_revisions r on r.task_id = p.task_id and r.revision_number = p.revision_number
        cross join lateral (
          select string_agg(o.body, E'\n\n') as body, count(*) as found
          from (
            select g.body from plan_segments g
            where g.task_id = p.task_id and g.seq between r.first_segment and r.last_segment
            order by g.seq
          ) o
        ) s
      where a.principal_id = p_principal and a.task_id = p_task_id and 'plan:read' = any (a.scopes)
        and s.found = r.last_segment - r.first_segment + 1
        and octet_length(s.body) + octet_length(r.tail) = r.content_bytes;
    if found then
      return;
    end if;
  exception
    when lock_not_available or serialization_failure or deadlock_detected then
      raise;
    when others then
      v_cause := format('%s (SQLSTATE %s)', sqlerrm, sqlstate);
  end;

  perform require_labels(c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'plan:read');
  if v_cause is not null or exists (select from plans p where p.task_id = p_task_id) then
    raise log 'planledger: HEAD of task % cannot be read: %', p_task_id,
      coalesce(v_cause, 'its revision or a segment is missing or damaged');
    perform refuse('plan_head_unavailable', c_operation, p_task_id);
  end if;
end
$$;

comment on function planledger.plan_get(uuid, text) is
  'The current plan of p_task_id: exact title and text with the version and revision of the same committed state; no row where there is no plan. Takes no lock. Raises validation_error, task_unreachable, plan_head_unavailable.';
