create or replace function planledger.revision_text(
  p_refusal text,
  p_operation text,
  p_task_id text,
  p_first_segment integer,
  p_last_segment integer,
  p_tail text,
  p_content_bytes integer
)
returns text
language plpgsql stable
set search_path = planledger, pg_temp
set enable_seqscan = off  -- rows are looked up by key; a plan made while tables were small must not stay
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_text text;
  v_found bigint;
begin
  begin
    select string_agg(o.body, E'\n\n'), count(*)
    into v_text, v_found
    from (
      select g.body from plan_segments g
      where g.task_id = p_task_id and g.seq between p_first_segment and p_last_segment
      order by g.seq
    ) o;
  exception
    when lock_not_available or serialization_failure or deadlock_detected then
      raise;
    when others then
      raise log 'planledger: segments % to % of task % cannot be read: % (SQLSTATE %)',
        p_first_segment, p_last_segment, p_task_id, sqlerrm, sqlstate;
      perform refuse(p_refusal, p_operation, p_task_id);
  end;
  if p_tail <> '' then
    v_text := v_text || p_tail;
  end if;
  if v_found <> p_last_segment - p_first_segment + 1 or octet_length(v_text) <> p_content_bytes then
    raise log 'planledger: segments % to % of task % do not make the recorded % bytes',
      p_first_segment, p_last_segment, p_task_id, p_content_bytes;
    perform refuse(p_refusal, p_operation, p_task_id);
  end if;
  return v_text;
end
$$;

comment on function planledger.revision_text(text, text, text, integer, integer, text, integer) is
  'The text of a revision: the bodies of its segments joined by two newlines, then its tail. Refuses with p_refusal where a segment is missing or unreadable or the size is not the recorded one; the cause goes to the server log.';
