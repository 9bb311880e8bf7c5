create or replace function planledger.receipt_attachments(p_task_id text, p_token uuid)
returns table (id uuid, name text, media_type text, content bytea)
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
begin
  return query
    select a.id, a.name::text, a.media_type::text, a.content
    from receipts r join attachments a on a.task_id = r.task_id and a.delivery_id = r.id
    where r.task_id = p_task_id and r.lease_token = p_token
    order by r.dispatch_place, a.delivery_place;
end
$$;

comment on function planledger.receipt_attachments(text, uuid) is
  'The files that go out with a reserved receipt, in order; none without its token. Takes no lock.';
