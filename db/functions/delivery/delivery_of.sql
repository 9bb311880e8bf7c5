create or replace function planledger.delivery_of(p_task_id text, p_client_id text, p_replayed boolean default false)
returns planledger.delivery
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_delivery delivery;
begin
  select o.id, d.task_id, d.session_id, d.action, d.client_id,
    coalesce(r.state::text, case when m.id is null then 'removed' else 'acknowledged' end),
    coalesce(m.content, q.content), coalesce(m.comments, q.comments, '[]'), p_replayed, d.created_at
  into v_delivery
  from deliveries d
    join deliveries o on o.task_id = d.task_id and o.id = coalesce(d.joined_id, d.id)
    left join receipts r on r.task_id = o.task_id and r.id = o.id
    left join queue_entries q on q.task_id = o.task_id and q.id = o.id
    left join session_messages m on m.task_id = o.task_id and m.id = o.message_id
  where d.task_id = p_task_id and d.client_id = p_client_id;
  return v_delivery;
end
$$;

comment on function planledger.delivery_of(text, text, boolean) is
  'The delivery whose request had p_client_id; all null where there is none.';
