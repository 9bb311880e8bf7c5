create or replace function planledger.revision_version(
  p_task_id text,
  p_revision_id uuid,
  p_title text,
  p_content text,
  p_updated_at timestamptz
)
returns text
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_part text;
  v_bytes bytea;
  v_all bytea := ''::bytea;
begin
  foreach v_part in array array[
    p_revision_id::text, p_task_id, p_title, p_content,
    to_char(p_updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
  ] loop
    v_bytes := convert_to(v_part, 'UTF8');
    v_all := v_all || int8send(length(v_bytes)) || v_bytes;
  end loop;
  return encode(sha256(v_all), 'hex');
end
$$;

comment on function planledger.revision_version(text, uuid, text, text, timestamptz) is
  'The digest that names the present state of a revision row: SHA-256 over its id, task, title, content and update time (UTC, microseconds), each prefixed with its length in bytes as 8 bytes.';
