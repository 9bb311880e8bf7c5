create or replace function planledger.labels_are_valid(p_task_id text, p_title text, p_request_id text)
returns boolean
language sql immutable parallel safe
as $$
  select coalesce(char_length(p_task_id) between 1 and 200, false)
    and coalesce(char_length(p_title) <= 200, true)
    and coalesce(char_length(p_request_id) between 1 and 200, true)
$$;

comment on function planledger.labels_are_valid(text, text, text) is
  'Whether require_labels would let these pass; it says which does not.';
