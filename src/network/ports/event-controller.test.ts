// Events of back ends in this process are recorded, eventually.
import { expect, test, vi } from 'vitest';
import { idOf, Registry } from '../../fleet/index.ts';
import { accept, Journal } from '../../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../../journal/runtime.ts';
import { ManualClock } from '../back-ends/clock-fixture.ts';
import { NetworkEventsController } from './event-controller.ts';
import { isPlugged, NETWORK_EVENT, networkEventsModel, type NetworkEventReport } from './event.ts';
import { PORT } from '../model.ts';
import { port } from '../network-fixture.ts';

const LEASE = { name: 'fleet', holder: 'one', url: 'test://one', ttlMs: 3_600_000 };

async function startPlane() {
  const clock = new ManualClock();
  const store = new MemoryStore(new MemoryDisk({ journalId: 'test', nowMs: () => clock.nowMs() }));
  const registry = new Registry([{ kinds: [PORT] }, networkEventsModel]);
  let made = 0;
  const next = (prefix: string): string => `${prefix}-${(made += 1)}`;
  const journal = new Journal({ store, registry, clock, ids: { next, secret: () => next('secret') } });
  await journal.open();
  const lead = async (): Promise<void> => {
    const answer = await store.acquireLease(LEASE);
    if (answer.kind === 'held') await journal.lead({ lease: 'fleet', epoch: answer.lease.epoch });
    const binding = { host: 'h1', serial: 1, type: 'ovs' };
    const change = port('p', 'n', { instance: 'web', nic: 0, serial: 1, binding });
    await journal.submit({ by: 'test', decide: () => accept([change], null) });
  };
  const warned: string[] = [];
  const log = { info: () => undefined, warn: (_: object, text: string) => warned.push(text), error: () => undefined };
  const controller = new NetworkEventsController({ journal, clock, log });
  return { clock, journal, lead, controller, warned };
}

const PLUGGED: NetworkEventReport = { port: 'p', name: 'plugged', serial: 1 };

test('news-are-written-down-as-they-come-and-those-of-ports-that-are-gone-are-dropped', async () => {
  const { clock, journal, lead, controller } = await startPlane();
  await lead();
  const submitted = vi.spyOn(journal, 'submit');
  const over = new AbortController();
  const ran = controller.run(over.signal);
  controller.enqueue({ ...PLUGGED, port: 'gone' });
  await clock.advance(10);
  controller.enqueue(PLUGGED);
  await clock.advance(10);
  // A recorded event is not recorded again.
  expect(submitted).toHaveBeenCalledTimes(2);
  expect(isPlugged(journal.fleet, journal.fleet.get(PORT, idOf(PORT, 'p'))!)).toBe(true);
  over.abort();
  await ran;
});

test('what-cannot-be-written-now-is-written-later', async () => {
  const { clock, journal, lead, controller } = await startPlane();
  const over = new AbortController();
  const ran = controller.run(over.signal);
  controller.enqueue(PLUGGED);
  await clock.advance(5000);
  await lead();
  expect(journal.fleet.count(NETWORK_EVENT)).toBe(0);
  await clock.advance(2000);
  expect(journal.fleet.count(NETWORK_EVENT)).toBe(1);
  over.abort();
  await ran;
});

test('never: an event that arrives during a commit is lost', async () => {
  const { clock, journal, lead, controller } = await startPlane();
  await lead();
  const over = new AbortController();
  const ran = controller.run(over.signal);
  const submitted = vi.spyOn(journal, 'submit');
  submitted.mockImplementationOnce((request) => {
    controller.enqueue({ ...PLUGGED, name: 'unplugged' });
    submitted.mockRestore();
    return journal.submit(request);
  });
  controller.enqueue(PLUGGED);
  await clock.advance(10);
  await clock.advance(10);
  // Of the events of one binding the last is kept.
  expect([...journal.fleet.all(NETWORK_EVENT)].map(({ doc }) => doc.name)).toEqual(['unplugged']);
  over.abort();
  await ran;
});

test('too-many-news-are-dropped-and-logged', async () => {
  const { controller, warned } = await startPlane();
  for (let nth = 0; nth < 10_001; nth += 1) controller.enqueue(PLUGGED);
  expect(warned).toEqual(['network event dropped: too many wait']);
});
