import { expect, test } from 'vitest';
import type { ViewResponse, ViewRequest, View } from '../protocol/messages.ts';
import { ViewSubscriber, type ViewSubscriberParts } from './view-subscriber.ts';
import type { AgentPorts } from './ports.ts';

const viewAt = (leaseEpoch: number, revision: number): View => ({
  host: 'c1',
  stamp: { journalId: 'j', leaseEpoch, revision },
  digest: `d${revision}`,
  parts: {},
  tasks: [],
});

test('after-a-start-and-a-refused-view-the-holders-unchanged-confirms-the-view-from-the-disk', async () => {
  const kept = { token: 't', view: viewAt(3, 30) };
  const answers: ViewResponse[] = [{ kind: 'view', view: viewAt(2, 40) }, { kind: 'unchanged' }];
  const requests: ViewRequest[] = [];
  const stop = new AbortController();
  const taken: boolean[] = [];
  const ports = {
    clock: { nowMs: () => 0, sleep: () => Promise.resolve(), turn: () => Promise.resolve() },
    random: () => 0.5,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    link: {
      view: (_to: unknown, request: ViewRequest) => {
        requests.push(request);
        const answer = answers.shift();
        if (answers.length === 0) stop.abort();
        return Promise.resolve({ kind: 'answer', answer });
      },
    },
  } as unknown as AgentPorts;
  const parts = {
    leader: { call: (_secret: string, send: (to: unknown) => unknown) => send({}) },
    store: { readView: () => Promise.resolve(kept) },
    membership: {
      credential: () => 'secret',
      departure: { isLeaving: false },
      current: { host: 'c1', token: 't' },
      updateTrust: () => Promise.resolve(),
      authenticateView: () => 'authentic',
    },
    onView: () => taken.push(viewer.isConfirmed),
  } as unknown as ViewSubscriberParts;
  const viewer = new ViewSubscriber(ports, parts);
  await viewer.load();
  expect(viewer.isConfirmed).toBe(false);
  await viewer.run(stop.signal);
  const words = 'glossary';
  expect(requests).toEqual([{ words }, { digest: 'd30', leaseEpoch: 3, words }]);
  expect({ confirmed: viewer.isConfirmed, refused: viewer.refusedView, taken }).toEqual({
    confirmed: true,
    refused: undefined,
    taken: [true],
  });
});
