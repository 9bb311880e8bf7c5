create or replace function planledger.settings_keep_row()
returns trigger
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  raise exception 'planledger.settings must keep its row; change it with settings_change'
    using errcode = 'integrity_constraint_violation';
end
$$;

comment on function planledger.settings_keep_row() is 'Trigger: refuses to delete the one row of settings.';
