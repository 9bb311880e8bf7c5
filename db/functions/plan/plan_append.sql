-- Costs the fragment, not the document: an append reads the sizes and the tail of the
-- revision row and adds one segment. Only every 1,024th, which folds the run into a new
-- base, reads the text.
--
-- Most appends join the latest revision, with nothing to refuse. Those are one statement,
-- which admits the caller and reads and writes HEAD at once. What it does not match or
-- cannot read writes nothing, and is then judged step by step. Where there is something to
-- wait for or to replay the caller is admitted before, and again once the lock is held. This
-- is the call that has to be fast: an expression costs 1 µs, a call of a function 3 to 8.
create or replace function planledger.plan_append(
  p_principal uuid,
  p_task_id text,
  p_fragment text,
  p_title text default null,
  p_expected_version text default null,
  p_allow_truncation boolean default false,
  p_request_id text default null
)
returns planledger.plan_write_ack
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'append';
  c_segments_max constant integer := 1024;
  v_caller caller;
  v_ack plan_write_ack;
  v_arguments jsonb;
  v_fragment text;
  v_body text;
  v_now timestamptz;
begin
  if (p_request_id is null and octet_length(p_fragment) <= content_max_bytes()
      and pg_try_advisory_xact_lock(lock_key('plan', p_task_id))) is not true then
    v_caller := append_admit(p_principal, p_task_id, p_fragment, p_title, p_allow_truncation, p_request_id);
    if p_request_id is not null then
      perform reach_again(c_operation, p_principal, p_task_id, 'plan:write', p_hold => false);
      v_arguments := jsonb_build_array(p_fragment, nullif(p_title, ''), nullif(p_expected_version, ''));
      v_ack := request_replay(c_operation, p_task_id, v_caller, p_request_id, v_arguments);
      if v_ack.replayed then
        return v_ack;
      end if;
    end if;
  end if;

  v_fragment := text_without_leading_blank_lines(p_fragment);
  v_body := text_without_trailing_space(v_fragment);
  v_now := clock_timestamp();
  begin
    with head as (
      update plan_revisions r
      set write_version = gen_random_uuid(),
        title = coalesce(nullif(p_title, ''), r.title),
        last_segment = r.last_segment + 1,
        tail = substr(v_fragment, char_length(v_body) + 1),
        content_bytes = r.content_bytes - octet_length(r.tail) + 2 + octet_length(v_fragment),
        content_chars = r.content_chars - char_length(r.tail) + 2 + char_length(v_fragment),
        updated_at = greatest(v_now, r.updated_at)
      from plans p
      where current_setting('transaction_isolation') = 'read committed'
        and labels_are_valid(p_task_id, p_title, p_request_id)
        and v_body <> '' and p_allow_truncation is not true
        and exists (
          select from admissions a
          where a.principal_id = p_principal and a.task_id = p_task_id and 'plan:write' = any (a.scopes)
        )
        and p.task_id = p_task_id and r.task_id = p_task_id and r.revision_number = p.revision_number
        and (coalesce(p_expected_version, '') = '' or p_expected_version = r.write_version::text)
        and r.content_bytes > octet_length(r.tail)
        and r.tail in ('', E'\n', E'\n\n')  -- kept whole by the separator, so nothing is removed
        and r.last_segment - r.first_segment + 1 < c_segments_max
        and r.content_bytes - octet_length(r.tail) + 2 + octet_length(v_fragment) <= content_max_bytes()
        and revision_merges(r.mergeable, r.author_id, r.created_at, r.updated_at, p_principal, greatest(v_now, r.updated_at),
          (select c.coalesce_window from settings c where c.singleton))
      returning p.id as plan_id, r.title, r.content_bytes, r.content_chars, r.revision_number, r.id, r.write_version,
        r.last_segment
    ), segment as (
      insert into plan_segments (task_id, seq, body) select p_task_id, h.last_segment, v_body from head h
    ), event as (
      insert into events (task_id, kind, plan_id, revision_id, revision_number, coalesced)
      select p_task_id, 'plan.updated', h.plan_id, h.id, h.revision_number, true from head h
    )
    select p_task_id, h.plan_id, 'appended', h.title, h.content_bytes, h.content_chars, h.revision_number, h.id,
      h.write_version, true, false
    into v_ack
    from head h;
  exception
    when lock_not_available or serialization_failure or deadlock_detected then
      raise;
    when others then
      null;  -- raised again, or told as what it means, below
  end;

  if v_ack.task_id is null then
    if v_caller.principal_id is null then
      v_caller := append_admit(p_principal, p_task_id, p_fragment, p_title, p_allow_truncation, p_request_id);
    end if;
    perform reach_again(c_operation, p_principal, p_task_id, 'plan:write');
    v_ack := append_compose(p_task_id, v_caller, p_title, p_expected_version, v_fragment, v_body, c_segments_max);
  end if;
  if p_request_id is not null then
    perform request_remember(c_operation, p_task_id, v_caller, p_request_id, v_arguments, v_ack);
  end if;
  return v_ack;
end
$$;

comment on function planledger.plan_append(uuid, text, text, text, text, boolean, text) is
  'Adds p_fragment to the end of the plan behind one blank line, at the cost of the fragment. p_title (1 to 200 characters; empty keeps the stored one); p_expected_version: checked when given; p_allow_truncation: refused when true; p_request_id (1 to 200 characters): makes a repeat harmless. The composed text has at most content_max_bytes(). Takes the plan lock. Not idempotent without p_request_id. Raises validation_error, task_unreachable, plan_content_required, plan_append_truncation_not_applicable, plan_busy, idempotency_conflict, plan_head_unavailable, task_not_found, plan_not_found, plan_version_conflict, plan_content_too_large, isolation_not_supported.';
