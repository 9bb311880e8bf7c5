create or replace function planledger.delivery_digest(
  p_session_id text,
  p_content text,
  p_references planledger.comment_references,
  p_attachment_ids uuid[],
  p_plan_mode boolean,
  p_require_primary boolean
)
returns bytea
language sql stable parallel safe
as $$
  select planledger.request_digest(jsonb_build_array(p_session_id, p_content, coalesce((
      select jsonb_agg(jsonb_build_object('id', r.id, 'version', r.version) order by r.place)
      from unnest((p_references).ids, (p_references).versions) with ordinality as r (id, version, place)), '[]'),
    coalesce(p_attachment_ids, '{}'), coalesce(p_plan_mode, false), coalesce(p_require_primary, false)))
$$;

comment on function planledger.delivery_digest(text, text, planledger.comment_references, uuid[], boolean, boolean) is
  'What a repeated request must match: the digest of all that it asks for, before any hook sends it elsewhere.';
