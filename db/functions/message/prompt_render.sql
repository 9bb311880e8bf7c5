-- A selection cannot break out of its fence, nor a body out of its quote: the fence is
-- longer than any run of backticks in the selection, and whatever ends a line anywhere
-- begins a new quoted one.
create or replace function planledger.prompt_render(p_selected_texts text[], p_bodies text[], p_base text)
returns text
language plpgsql immutable parallel safe
set search_path = planledger, pg_temp
as $$
declare
  v_prompt text := '';
  v_fence text;
begin
  if cardinality(p_bodies) = 0 then
    return p_base;
  end if;
  for v_place in 1 .. cardinality(p_bodies) loop
    v_fence := repeat('`', greatest(3, 1 + text_backtick_run(p_selected_texts[v_place])));
    v_prompt := v_prompt || v_fence || e'\n' || p_selected_texts[v_place] || e'\n' || v_fence || e'\n> '
      || regexp_replace(p_bodies[v_place], e'\r\n|\r|\n', e'\n> ', 'g') || e'\n\n';
  end loop;
  return e'### Plan Comments\n\n' || v_prompt || e'---\n\n' || p_base;
end
$$;

comment on function planledger.prompt_render(text[], text[], text) is
  'The prompt an agent gets: the comments (p_selected_texts and p_bodies, as many of each) in their order, then p_base, which may be empty; without comments p_base alone.';
