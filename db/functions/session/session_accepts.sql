create or replace function planledger.session_accepts(p_state text)
returns text
language sql immutable parallel safe
as $$
  select case when p_state = 'WAITING_FOR_INPUT' then 'direct'
    when p_state in ('CREATED', 'STARTING', 'RUNNING') then 'queue' else 'nothing' end
$$;

comment on function planledger.session_accepts(text) is
  'What a session in p_state takes: direct (a prompt now), queue (queued ones) or nothing (it has ended).';
