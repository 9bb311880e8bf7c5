-- Costs the fragment, not the document: reads the sizes and the tail of the revision row
-- and adds one segment. Only every 1,024th append, which folds the run into a new base,
-- reads the text. This is the call that has to be fast, so where nothing is to refuse it
-- calls no helper for it: an expression costs 1 µs, a call of a function 3 to 8.
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
  v_head plan_head;
  v_ack plan_write_ack;
  v_arguments jsonb;
  v_fragment text := text_without_leading_blank_lines(p_fragment);
  v_body text := text_without_trailing_space(v_fragment);
  v_kept_bytes integer;
  v_bytes integer;
  v_now timestamptz;
  v_merge boolean;
  v_removed integer;
begin
  if current_setting('transaction_isolation') <> 'read committed'
     or not labels_are_valid(p_task_id, p_title, p_request_id) then
    perform require_read_committed(c_operation, p_task_id);
    perform require_labels(c_operation, p_task_id, p_title, p_request_id);
  end if;
  select a.principal_id, a.author_kind, a.author_name, true into v_caller
  from admissions a
  where a.principal_id = p_principal and a.task_id = p_task_id and 'plan:write' = any (a.scopes);
  if not found then
    perform reach(c_operation, p_principal, p_task_id, 'plan:write');
  end if;

  if coalesce(p_fragment, '') = '' then
    perform refuse('plan_content_required', c_operation, p_task_id);
  elsif v_body = '' then
    perform refuse_argument('content', 'The fragment to append is only white space.', c_operation, p_task_id, true);
  elsif p_allow_truncation then
    perform refuse('plan_append_truncation_not_applicable', c_operation, p_task_id);
  end if;

  if not pg_try_advisory_xact_lock(lock_key('plan', p_task_id)) then
    perform lock_wait('plan', c_operation, p_task_id, false);
  end if;
  if p_request_id is not null then
    v_arguments := jsonb_build_array(p_fragment, p_title, p_expected_version);
    v_ack := request_replay(c_operation, p_task_id, v_caller, p_request_id, v_arguments);
    if v_ack.replayed then
      return v_ack;
    end if;
  end if;
  v_head := head_read(c_operation, p_task_id);
  if p_expected_version <> '' then
    perform version_check(c_operation, p_task_id, v_head, p_expected_version, false);
  end if;

  v_kept_bytes := v_head.content_bytes - octet_length(v_head.tail);
  v_bytes := octet_length(v_fragment) + case v_kept_bytes when 0 then 0 else v_kept_bytes + 2 end;
  if v_bytes > content_max_bytes() then
    perform size_check(c_operation, p_task_id, v_bytes);
  end if;

  if v_kept_bytes = 0 then
    v_ack := document_write('appended', c_operation, p_task_id, v_caller, v_head, p_title, v_fragment);
  elsif v_head.last_segment - v_head.first_segment + 1 >= c_segments_max then
    v_ack := document_write('appended', c_operation, p_task_id, v_caller, v_head, p_title,
      text_without_trailing_space(revision_text('plan_head_unavailable', c_operation, p_task_id,
        v_head.first_segment, v_head.last_segment, v_head.tail, v_head.content_bytes)) || E'\n\n' || v_fragment);
  else
    v_now := greatest(clock_timestamp(), v_head.updated_at);
    v_merge := revision_merges(v_head, v_caller.principal_id, v_now);
    v_removed := v_head.removed_chars;
    if v_merge and v_head.tail not in ('', E'\n', E'\n\n') then  -- those are kept whole by the separator
      v_removed := v_removed + text_removed_chars(v_head.tail, E'\n\n' || v_fragment);
      v_merge := v_removed <= 512;
    end if;
    insert into plan_segments (task_id, seq, body) values (p_task_id, v_head.last_segment + 1, v_body);
    v_ack := revision_save('appended', p_task_id, v_caller, v_head, v_merge, v_now,
      p_title => p_title,
      p_revision_number => v_head.revision_number + case when v_merge then 0 else 1 end,
      p_first_segment => v_head.first_segment,
      p_last_segment => v_head.last_segment + 1,
      p_tail => substr(v_fragment, char_length(v_body) + 1),
      p_content_bytes => v_bytes,
      p_content_chars => v_head.content_chars - char_length(v_head.tail) + 2 + char_length(v_fragment),
      p_removed_chars => v_removed);
  end if;

  if p_request_id is not null then
    perform request_remember(c_operation, p_task_id, v_caller, p_request_id, v_arguments, v_ack);
  end if;
  return v_ack;
end
$$;

comment on function planledger.plan_append(uuid, text, text, text, text, boolean, text) is
  'Adds p_fragment to the end of the plan behind one blank line, at the cost of the fragment. p_title (1 to 200 characters; empty keeps the stored one); p_expected_version: checked when given; p_allow_truncation: refused when true; p_request_id (1 to 200 characters): makes a repeat harmless. The composed text has at most content_max_bytes(). Takes the plan lock. Not idempotent without p_request_id. Raises validation_error, task_unreachable, plan_content_required, plan_append_truncation_not_applicable, plan_busy, idempotency_conflict, plan_head_unavailable, task_not_found, plan_not_found, plan_version_conflict, plan_content_too_large, isolation_not_supported.';
