create or replace function planledger.refuse_argument(
  p_argument text,
  p_problem text,
  p_operation text,
  p_task_id text,
  p_reached boolean
)
returns void
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  perform refuse('validation_error', p_operation, p_task_id,
    jsonb_build_object('argument', p_argument, 'problem', p_problem), p_reached);
end
$$;

comment on function planledger.refuse_argument(text, text, text, text, boolean) is
  'Raises validation_error for p_argument, saying p_problem. p_reached: whether the caller has reached the task.';
