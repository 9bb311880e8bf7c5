create or replace function planledger.settings_change(
  p_coalesce_window interval default null,
  p_lock_wait interval default null
)
returns table (coalesce_window interval, lock_wait interval)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'change_settings';
begin
  -- Compared and kept as seconds: PostgreSQL compares intervals as if a month had 30 days.
  if extract(epoch from p_lock_wait) not between 0.001 and 600 then
    perform refuse_argument('lock_wait', 'lock_wait must be from 1 millisecond to 10 minutes.', c_operation, null, false);
  elsif extract(epoch from p_coalesce_window) > extract(epoch from interval '360 days') then
    perform refuse_argument('coalesce_window', 'coalesce_window must be at most 360 days.', c_operation, null, false);
  end if;
  return query
    update settings as s
    set lock_wait = coalesce(make_interval(secs => extract(epoch from p_lock_wait)::double precision), s.lock_wait),
      coalesce_window = case
        when p_coalesce_window is null then s.coalesce_window
        else make_interval(secs => greatest(extract(epoch from p_coalesce_window), 0)::double precision)
      end
    returning s.coalesce_window, s.lock_wait;
end
$$;

comment on function planledger.settings_change(interval, interval) is
  'Changes the settings that are not null, for every process at once, and answers all of them. p_coalesce_window: zero or less means never, at most 360 days; p_lock_wait: 1 ms to 10 minutes. For administrators. Raises validation_error.';
