create or replace function planledger.head_read(p_operation text, p_task_id text, p_required boolean default true)
returns planledger.plan_head
language plpgsql volatile
set search_path = planledger, pg_temp
set enable_seqscan = off  -- rows are looked up by key; a plan made while tables were small must not stay
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_head plan_head;
begin
  begin
    select p.id, p.revision_number, r.id, r.write_version, r.title, r.first_segment, r.last_segment, r.tail,
      r.content_bytes, r.content_chars, r.author_id, r.mergeable, r.removed_chars, r.created_at, r.updated_at,
      s.coalesce_window
    into v_head
    from plans p
      left join plan_revisions r on r.task_id = p.task_id and r.revision_number = p.revision_number
      left join settings s on s.singleton
    where p.task_id = p_task_id
    for no key update of p;
  exception
    when lock_not_available or serialization_failure or deadlock_detected or read_only_sql_transaction then
      raise;
    when others then
      raise log 'planledger: HEAD of task % cannot be read: % (SQLSTATE %)', p_task_id, sqlerrm, sqlstate;
      perform refuse('plan_head_unavailable', p_operation, p_task_id);
  end;

  if v_head.plan_id is null then
    if p_required then
      perform refuse('plan_not_found', p_operation, p_task_id);
    end if;
  elsif v_head.revision_id is null then
    raise log 'planledger: HEAD of task % points at revision %, which is missing', p_task_id, v_head.revision_number;
    perform refuse('plan_head_unavailable', p_operation, p_task_id);
  end if;
  return v_head;
end
$$;

comment on function planledger.head_read(text, text, boolean) is
  'The current state of the plan of p_task_id, read once, after the plan lock, its row locked; all null where there is no plan, which p_required refuses (plan_not_found). plan_head_unavailable where it cannot be read.';
