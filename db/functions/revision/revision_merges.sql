-- Uses each argument that may be a sub-select once, as p_window is in an append: the planner
-- inlines no other.
create or replace function planledger.revision_merges(
  p_mergeable boolean,
  p_author_id uuid,
  p_created_at timestamptz,
  p_updated_at timestamptz,
  p_principal uuid,
  p_now timestamptz,
  p_window interval
)
returns boolean
language sql immutable parallel safe
as $$
  select p_mergeable
    and p_author_id = p_principal
    and greatest(interval '0', p_now - p_updated_at, (p_now - p_created_at) / 12) < p_window
$$;

comment on function planledger.revision_merges(boolean, uuid, timestamptz, timestamptz, uuid, timestamptz, interval) is
  'Whether a write of p_principal at p_now may join the latest revision, which the other arguments describe: it takes further writes, has the same author (principal, not name), was updated within p_window and created within twelve. Null where there is no plan. The removal budget is the writer''s to check.';
