create or replace function planledger.references_check(
  p_operation text,
  p_task_id text,
  p_references jsonb
)
returns planledger.comment_references
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_found comment_references;
  c_problem constant text := 'plan_comment_refs must be a list of {"id": UUID, "version": number}, at most 100.';
begin
  if p_references is null then
    return ('{}', '{}')::comment_references;
  elsif jsonb_typeof(p_references) <> 'array' or jsonb_array_length(p_references) > 100
    or exists (
      select from jsonb_array_elements(p_references) r
      where case when jsonb_typeof(r) <> 'object' then true
        else jsonb_typeof(r -> 'id') is distinct from 'string' or jsonb_typeof(r -> 'version') is distinct from 'number'
          or r - '{id,version}'::text[] <> '{}' end)
  then
    perform refuse_argument('plan_comment_refs', c_problem, p_operation, p_task_id, false);
  end if;
  begin
    select coalesce(array_agg((r.value ->> 'id')::uuid order by r.place), '{}'),
      coalesce(array_agg((r.value ->> 'version')::integer order by r.place), '{}')
    into v_found.ids, v_found.versions
    from jsonb_array_elements(p_references) with ordinality as r (value, place);
  exception
    when data_exception then
      perform refuse_argument('plan_comment_refs', c_problem, p_operation, p_task_id, false);
  end;
  if array_position(v_found.ids, null) is not null or array_position(v_found.versions, null) is not null then
    perform refuse_argument('plan_comment_refs', c_problem, p_operation, p_task_id, false);
  end if;
  return v_found;
end
$$;

comment on function planledger.references_check(text, text, jsonb) is
  'Takes p_references, a list of {id, version}, apart (null: none); refuses (validation_error) what is none.';
