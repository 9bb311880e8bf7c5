create or replace function planledger.installation()
returns table (migration text, program_version text, functions_sha256 text)
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
begin
  return query
    select m.name::text, i.program_version, i.functions_sha256
    from installed i left join migrations m on true
    order by m.id;
end
$$;

comment on function planledger.installation() is
  'What is installed: one row for each migration applied, with the program version and the digest of db/functions applied last.';
