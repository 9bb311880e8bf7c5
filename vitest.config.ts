import { defineConfig } from 'vitest/config';

const alone = ['test/chaos/**/*.test.ts', 'test/timed/**/*.test.ts'];
const shared = {
  globalSetup: ['test/support/global-setup.ts'],
  testTimeout: 60_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 10_000 } }, // on a loaded machine a second is short
};

export default defineConfig({
  test: {
    projects: [
      {
        // Timed, or of many processes each: one file at a time, and nothing beside it.
        test: {
          ...shared,
          name: 'alone',
          include: alone,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: alone,
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
    ],
  },
});
