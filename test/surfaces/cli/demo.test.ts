import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { processesIn, type Running, startCli, useCleanup, useFolder } from './process.ts';

const folder = useFolder();
const kept = useCleanup();

/** A database and a token of the caller's, which the demo must not touch: nothing answers there. */
const others = { DATABASE_URL: 'postgres://127.0.0.1:1/x', PLANLEDGER_TOKEN: 'x' };

function startDemo(): Running {
  return kept(startCli(['demo'], { cwd: folder.path, env: { TMPDIR: folder.path, ...others } }));
}

async function expectNothingLeft(): Promise<void> {
  expect((await readdir(folder.path)).filter((name) => name.startsWith('planledger-'))).toEqual([]);
  expect(await processesIn(folder.path)).toEqual([]);
  expect((await readdir(folder.path)).includes('.planledger')).toBe(false);
}

test('it shows two agents, one plan and one prompt, says only what it has checked, and leaves nothing behind', async () => {
  const result = await startDemo().ended;
  expect(result, result.stderr).toMatchObject({ code: 0 });
  const [, transcript = '', rest = ''] =
    /The transcript.*\n\n([\s\S]*)\n\nThe plan\n([\s\S]*)/.exec(result.stdout) ?? [];
  expect(transcript).toMatch(/^-- Dana \(user, message\), .*\n {2}### Plan Comments\n/);
  expect(transcript).toContain('\n  > In which browsers?\n');
  expect(transcript).toMatch(/-- Cleo \(agent, thought\), [\s\S]*-- Cleo \(agent, message\), /);
  for (const name of ['Ada', 'Bo']) {
    for (const number of [1, 2, 3, 4, 5]) expect(rest.split(`## ${name}, section ${number}\n`)).toHaveLength(2);
    expect(rest).toContain(`${name} (agent)`);
  }
  const [, checked = ''] = /Checked against the database\n\n([\s\S]*?)\n\n/.exec(rest) ?? [];
  expect(checked.split('\n')).toHaveLength(8);
  expect(rest).toContain('npx planledger start');
  expect(result.stdout).not.toContain('\u001b');
  await expectNothingLeft();
});

test.each(['PostgreSQL starts', 'The agents Ada and Bo', 'A worker starts'])(
  'Ctrl-C after "%s" leaves nothing behind',
  async (step) => {
    const running = startDemo();
    while (!running.output.stdout.includes(step)) {
      expect(running.child.exitCode, running.output.stderr).toBe(null);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    running.child.kill('SIGINT');
    const result = await running.ended;
    expect(result, result.stderr).toMatchObject({ code: 130 });
    expect(result.stdout).not.toContain('Checked against');
    expect(result.stderr).not.toContain('planledger: ');
    await expectNothingLeft();
  },
);
