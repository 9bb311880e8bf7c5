import { expect, test } from 'vitest';
import { createSubscriptions } from '../../../src/surfaces/gateway/subscriptions.ts';

const subscriber = { tokenId: 'token', send: () => {}, tokenEnded: () => {} };

test('a subscription that was asked for again meanwhile outlives the end of the earlier one', () => {
  const subscriptions = createSubscriptions();
  subscriptions.add('t', subscriber);
  const [earlier] = subscriptions.of('t');
  if (earlier === undefined) expect.unreachable('no subscription');
  subscriptions.add('t', subscriber);
  subscriptions.end('t', earlier);
  const [later] = subscriptions.of('t');
  expect(later).toEqual({ subscriber });
  if (later !== undefined) subscriptions.end('t', later);
  expect(subscriptions.tasks()).toEqual([]);
});

test('a subscription that cannot be answered leaves one that was there before', () => {
  const subscriptions = createSubscriptions();
  subscriptions.add('t', subscriber)();
  expect(subscriptions.of('t')).toEqual([]);
  subscriptions.add('t', subscriber);
  subscriptions.add('t', subscriber)();
  expect(subscriptions.of('t')).toEqual([{ subscriber }]);
});
