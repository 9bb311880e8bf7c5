create or replace function planledger.comments_consume(
  p_operation text,
  p_task_id text,
  p_plan_id text,
  p_comment_ids uuid[],
  p_versions integer[]
)
returns setof planledger.plan_comments
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_plan_id uuid := comment_plan(p_operation, p_task_id, p_plan_id);
  v_found integer;
  v_deleted integer;
begin
  return query
    select c.* from unnest(p_comment_ids, p_versions) with ordinality as g (id, version, place)
      join plan_comments c on c.task_id = p_task_id and c.id = g.id and c.version = g.version
    order by g.place;
  get diagnostics v_found = row_count;
  delete from plan_comments c where c.task_id = p_task_id and c.id = any (p_comment_ids);
  get diagnostics v_deleted = row_count;
  -- One that is unknown or of another version is not found; one that stands twice is deleted once.
  if v_found = 0 or v_found <> cardinality(p_comment_ids) or v_found <> v_deleted then
    perform refuse('plan_comments_changed', p_operation, p_task_id);
  end if;
  perform comments_changed(p_task_id, v_plan_id);
end
$$;

comment on function planledger.comments_consume(text, text, text, uuid[], integer[]) is
  'Deletes the referenced pending comments of the current plan p_plan_id, all of them or none, raises the comments'' revision by one and answers them in the order given. Each of p_comment_ids stands once and has its version in p_versions; otherwise plan_comments_changed. The caller holds admission_lock.';
