create or replace view planledger.receipts_by_state as
select
  s.state,
  count(r.id) as receipts,
  min(coalesce(r.ended_at, r.attempted_at, r.created_at)) as oldest,
  clock_timestamp() - min(coalesce(r.ended_at, r.attempted_at, r.created_at)) as oldest_age
from unnest(array['pending', 'reserved', 'attempted', 'acknowledged', 'cleared', 'failed']) with ordinality as s (state, place)
  left join planledger.receipts r on r.state = s.state
group by s.state, s.place
order by s.place;

comment on view planledger.receipts_by_state is 'How many accepted prompts are in which state, and since when the oldest is.';
comment on column planledger.receipts_by_state.state is 'pending, reserved, attempted, acknowledged, cleared or failed.';
comment on column planledger.receipts_by_state.receipts is 'How many receipts are in it.';
comment on column planledger.receipts_by_state.oldest is 'When the oldest of them was accepted, attempted or ended, whichever came last.';
comment on column planledger.receipts_by_state.oldest_age is 'How long ago that was.';
