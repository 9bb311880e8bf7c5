create or replace function planledger.session_set_state(
  p_principal uuid,
  p_task_id text,
  p_session_id text,
  p_state text,
  p_failure text default null
)
returns planledger.session
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'set_session_state';
begin
  if p_state is null or p_state not in
    ('CREATED', 'STARTING', 'RUNNING', 'WAITING_FOR_INPUT', 'COMPLETED', 'FAILED', 'CANCELLED') then
    perform refuse_argument('state',
      'state must be CREATED, STARTING, RUNNING, WAITING_FOR_INPUT, COMPLETED, FAILED or CANCELLED.',
      c_operation, p_task_id, false);
  elsif char_length(p_failure) not between 1 and 1000 then
    perform refuse_argument('failure', 'failure must have 1 to 1,000 characters.', c_operation, p_task_id, false);
  end if;

  return session_move(c_operation, p_task_id, session_admit(c_operation, p_principal, p_task_id, p_session_id),
    p_state, p_failure);
end
$$;

comment on function planledger.session_set_state(uuid, text, text, text, text) is
  'Moves a session to p_state, with p_failure (1 to 1,000 characters, for people) where something went wrong. One that has ended stays so. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, session_terminal, plan_busy, isolation_not_supported.';
