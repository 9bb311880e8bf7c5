-- A prompt that has no entry in the queue has its row already, so that writing it twice writes it once.
create or replace function planledger.transcript_write(p_receipt planledger.receipts)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_id uuid := (p_receipt).dispatch_id;
begin
  if not exists (select from queue_entries q where q.task_id = (p_receipt).task_id and q.id = (p_receipt).id) then
    return;
  end if;
  with entries as (
    delete from queue_entries q using receipts r
    where r.task_id = (p_receipt).task_id and r.lease_token = (p_receipt).lease_token
      and q.task_id = r.task_id and q.id = r.id
    returning q.id, q.content, q.comments, q.plan_mode, q.author_id, q.author_name, r.dispatch_place as place
  ), requests as (
    update deliveries d set message_id = v_id from entries e
    where d.task_id = (p_receipt).task_id and d.id = e.id
    returning d.id, d.client_id
  )
  insert into session_messages
    (task_id, id, session_id, role, content, client_id, comments, plan_mode, author_id, author_name)
  select (p_receipt).task_id, v_id, (p_receipt).session_id, 'user', string_agg(e.content, e'\n\n' order by e.place),
    case count(*) when 1 then min(d.client_id) end,
    coalesce(jsonb_path_query_array(jsonb_agg(e.comments order by e.place), '$[*][*]'), '[]'),
    bool_or(e.plan_mode), case count(distinct e.author_id) when 1 then (array_agg(e.author_id))[1] end,
    left(string_agg(distinct e.author_name, ', '), 200)
  from entries e join requests d on d.id = e.id;
  insert into events (task_id, kind, session_id, message_id)
  values ((p_receipt).task_id, 'message.added', (p_receipt).session_id, v_id);
  perform queue_changed((p_receipt).task_id, (p_receipt).session_id);
end
$$;

comment on function planledger.transcript_write(planledger.receipts) is
  'Writes the transcript''s row of a prompt that waited in the queue, alone or with others, and takes its entries out of the queue; a direct message has its row already. The caller holds the session''s lock.';
