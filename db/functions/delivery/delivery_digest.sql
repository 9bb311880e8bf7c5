create or replace function planledger.delivery_digest(
  p_session_id text,
  p_content text,
  p_references jsonb,
  p_attachment_ids uuid[],
  p_plan_mode boolean,
  p_require_primary boolean
)
returns bytea
language sql stable parallel safe
as $$
  select planledger.request_digest(jsonb_build_array(p_session_id, p_content, p_references,
    coalesce(p_attachment_ids, '{}'), coalesce(p_plan_mode, false), coalesce(p_require_primary, false)))
$$;

comment on function planledger.delivery_digest(text, text, jsonb, uuid[], boolean, boolean) is
  'What a repeated request must match: the digest of all that it asks for, before any hook sends it elsewhere.';
