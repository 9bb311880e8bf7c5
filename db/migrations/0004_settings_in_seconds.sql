-- Up Migration

-- PostgreSQL compares intervals as if a month had 30 days, and counts a year as 365.25 of
-- them when it makes seconds of one. Kept and bounded as seconds, a setting means one time.

update planledger.settings
set coalesce_window = make_interval(secs => least(greatest(extract(epoch from coalesce_window), 0), 31104000)::double precision),
  lock_wait = make_interval(secs => least(greatest(extract(epoch from lock_wait), 0.001), 600)::double precision);

alter table planledger.settings
  drop constraint settings_coalesce_window_check,
  drop constraint settings_lock_wait_check,
  add constraint settings_coalesce_window_check check (extract(epoch from coalesce_window) between 0 and 31104000),
  add constraint settings_lock_wait_check check (extract(epoch from lock_wait) between 0.001 and 600);
comment on column planledger.settings.coalesce_window is 'How long after its last update a revision still takes further writes of its author; zero: never; at most 360 days.';
