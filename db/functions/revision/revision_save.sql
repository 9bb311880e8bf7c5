-- The one place that commits a plan write. Either the latest revision takes the write
-- (number, id, author and creation time stay) or a revision is added and HEAD moves to
-- it; one event row says which.
create or replace function planledger.revision_save(
  p_outcome text,
  p_task_id text,
  p_caller planledger.caller,
  p_head planledger.plan_head,
  p_merge boolean,
  p_now timestamptz,
  p_title text,
  p_revision_number integer,
  p_first_segment integer,
  p_last_segment integer,
  p_tail text,
  p_content_bytes integer,
  p_content_chars integer,
  p_removed_chars integer default 0,
  p_mergeable boolean default true,
  p_restored_from uuid default null
)
returns planledger.plan_write_ack
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_plan_id uuid := p_head.plan_id;
  v_title text := coalesce(nullif(p_title, ''), p_head.title, 'Plan');
  v_ack plan_write_ack;
begin
  if p_merge then
    update plan_revisions r
    set write_version = gen_random_uuid(), title = v_title, first_segment = p_first_segment,
      last_segment = p_last_segment, tail = p_tail, content_bytes = p_content_bytes,
      content_chars = p_content_chars, removed_chars = p_removed_chars, updated_at = p_now
    where r.task_id = p_task_id and r.revision_number = p_revision_number
    returning p_task_id, v_plan_id, p_outcome, v_title, p_content_bytes, p_content_chars,
      p_revision_number, r.id, r.write_version, true, false
    into v_ack;
    if not found then
      raise exception 'planledger: revision % of task % is gone', p_revision_number, p_task_id
        using errcode = 'data_corrupted';
    end if;
  else
    insert into plan_revisions as r (task_id, revision_number, title, first_segment, last_segment, tail,
      content_bytes, content_chars, author_id, author_kind, author_name, restored_from, mergeable, created_at, updated_at)
    values (p_task_id, p_revision_number, v_title, p_first_segment, p_last_segment, p_tail,
      p_content_bytes, p_content_chars, p_caller.principal_id, p_caller.author_kind, p_caller.author_name,
      p_restored_from, p_mergeable, p_now, p_now)
    returning p_task_id, v_plan_id, p_outcome, v_title, p_content_bytes, p_content_chars,
      p_revision_number, r.id, r.write_version, false, false
    into v_ack;
    if v_plan_id is null then
      insert into plans (task_id, revision_number, created_by, created_at)
      values (p_task_id, p_revision_number, p_caller.author_kind, p_now)
      returning id into v_ack.plan_id;
    else
      update plans p set revision_number = p_revision_number where p.task_id = p_task_id;
    end if;
  end if;

  insert into events (task_id, kind, plan_id, revision_id, revision_number, coalesced, restored_from)
  values (p_task_id, case when v_plan_id is null then 'plan.created' else 'plan.updated' end,
    v_ack.plan_id, v_ack.revision_id, p_revision_number, p_merge, p_restored_from);
  return v_ack;
end
$$;

comment on function planledger.revision_save(text, text, planledger.caller, planledger.plan_head, boolean, timestamptz, text, integer, integer, integer, text, integer, integer, integer, boolean, uuid) is
  'Commits a state of the plan: into the latest revision (p_merge) or as revision p_revision_number, then moves HEAD; makes a fresh version, records one event and answers with the acknowledgement. An empty p_title keeps the stored one. The caller holds the plan lock and has stored the segments.';
