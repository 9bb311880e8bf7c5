-- Its id is that of the prompt, so that writing it twice writes it once.
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
  insert into session_messages as m
    (task_id, id, session_id, role, content, client_id, comments, plan_mode, author_id, author_name)
  select (p_receipt).task_id, v_id, (p_receipt).session_id, 'user', string_agg(q.content, e'\n\n' order by r.dispatch_place),
    case count(*) when 1 then min(d.client_id) end, coalesce(jsonb_path_query_array(jsonb_agg(q.comments order by r.dispatch_place), '$[*][*]'), '[]'),
    bool_or(q.plan_mode), (array_agg(q.author_id order by r.dispatch_place))[1], (array_agg(q.author_name order by r.dispatch_place))[1]
  from receipts r
    join queue_entries q on q.task_id = r.task_id and q.id = r.id
    join deliveries d on d.task_id = r.task_id and d.id = r.id
  where r.task_id = (p_receipt).task_id and r.dispatch_id = v_id
  having count(*) > 0
  on conflict (task_id, id) do nothing;
  if found then
    insert into events (task_id, kind, session_id, message_id)
    values ((p_receipt).task_id, 'message.added', (p_receipt).session_id, v_id);
    perform queue_changed((p_receipt).task_id, (p_receipt).session_id);
  end if;
  update deliveries d set message_id = v_id
  from receipts r
  where r.task_id = (p_receipt).task_id and r.dispatch_id = v_id and d.task_id = r.task_id and d.id = r.id
    and d.message_id is distinct from v_id;
  delete from queue_entries q using receipts r
  where r.task_id = (p_receipt).task_id and r.dispatch_id = v_id and q.task_id = r.task_id and q.id = r.id;
end
$$;

comment on function planledger.transcript_write(planledger.receipts) is
  'Writes the transcript''s row of a prompt that waited in the queue, alone or with others, and takes its entries out of the queue; a direct message has its row already. The caller holds the session''s lock.';
