import { defineConfig } from 'vitest/config';

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
        // Many processes each, of which some are timed: one file at a time, and nothing beside it.
        test: {
          ...shared,
          name: 'chaos',
          include: ['test/chaos/**/*.test.ts'],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          name: 'rules',
          include: ['test/**/*.test.ts'],
          exclude: ['test/chaos/**'],
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
    ],
  },
});
