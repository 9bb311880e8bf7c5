-- Up Migration

create trigger settings_keep_row_of_all before truncate on planledger.settings
  for each statement execute function planledger.settings_keep_row();
comment on trigger settings_keep_row_of_all on planledger.settings is 'Keeps the one row.';
