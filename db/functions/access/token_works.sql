create or replace function planledger.token_works(p_revoked_at timestamptz, p_expires_at timestamptz)
returns boolean
language sql volatile parallel safe
as $$
  select p_revoked_at is null and (p_expires_at is null or p_expires_at > clock_timestamp())
$$;

comment on function planledger.token_works(timestamptz, timestamptz) is
  'Whether an access token with these times is neither revoked nor expired at this moment.';
