create or replace function planledger.revision_merges(
  p_head planledger.plan_head,
  p_principal uuid,
  p_now timestamptz
)
returns boolean
language sql stable parallel safe
as $$
  select p_head.mergeable
    and p_head.author_id = p_principal
    and p_head.coalesce_window > interval '0'
    and p_now < p_head.updated_at + p_head.coalesce_window
    and p_now < p_head.created_at + 12 * p_head.coalesce_window
$$;

comment on function planledger.revision_merges(planledger.plan_head, uuid, timestamptz) is
  'Whether a write of p_principal at p_now may join the latest revision: it takes further writes, has the same author (principal, not name), was updated within the window and created within twelve. Null where there is no plan. The removal budget is the writer''s to check.';
