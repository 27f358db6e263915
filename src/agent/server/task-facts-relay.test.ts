// Facts of one host's answer for the task of another, from agent to agent: never in the journal, and gone with the lease.
import { expect, onTestFinished, test } from 'vitest';
import { idOf } from '../../fleet/index.ts';
import { accept } from '../../journal/index.ts';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';
import {
  ITEM,
  newOperation,
  OPERATION,
  record,
  taskId,
  type OperationKind,
  type TaskFacts,
  type TaskHandler,
  type TaskHandlers,
} from '../../operations/index.ts';
import { TestHost } from '../node/agent-fixture.ts';
import { TestControlPlane } from './control-plane-fixture.ts';

const SECRET = 'one-time-secret';

/** c1 opens a line, and c2 sends over it. */
const carry: OperationKind = {
  name: 'carry',
  steps: ['open', 'send'],
  cancel: { kind: 'none', because: 'test' },
  retry: { kind: 'none', because: 'test' },
  plan: (_fleet, items) =>
    items.flatMap((item) => (item.doc.state === 'pending' ? [record(item, { ...OPEN, host: 'c1', attempt: 1 })] : [])),
  task: (item, { relayed }) => ({ kind: item.doc.step, args: { ...relayed } }),
  relayFacts: (item, { facts }) => (item.doc.step === 'open' ? facts : undefined),
  handleTaskAnswer: (item) =>
    item.doc.step === 'open'
      ? record(item, { state: 'running', step: 'send', host: 'c2', attempt: 2 })
      : record(item, { state: 'done', step: 'send', host: null }),
};
const OPEN = { state: 'running', step: 'open' } as const;
const OP = idOf(OPERATION, 'op-carry');

interface World {
  readonly clock: VirtualClock;
  readonly plane: TestControlPlane;
  readonly opening: TestHost;
  readonly sending: TestHost;
  /** The arguments with which c2 was ordered to send. */
  readonly sent: unknown[];
  /** Every change that was committed, as text. */
  readonly journal: string[];
}

const untilStopped: TaskHandler = (_task, { signal }) =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve({ outcome: 'failed' })));
const answersWith =
  (facts: TaskFacts): TaskHandler =>
  () => ({ outcome: 'done', facts });

async function worldOf(open: TaskHandler = answersWith({ line: 'c1:7000', secret: SECRET })): Promise<World> {
  const clock = new VirtualClock();
  const plane = new TestControlPlane(clock, 'journal-1', [carry]);
  await plane.start('s1');
  await clock.until('there is a lease holder', () => plane.hasLeader);
  const journal: string[] = [];
  plane.leader.journal.onCommit(({ commit, applied }) => void journal.push(JSON.stringify([commit, applied])));
  await plane.register('c1', 'c2');
  const sent: unknown[] = [];
  const hostWith = async (name: string, taskHandlers: TaskHandlers): Promise<TestHost> => {
    const token = await plane.joinToken(name);
    return new TestHost(plane, {
      joinToken: () => Promise.resolve(token),
      machine: { modules: [{ name: 'test', taskHandlers: () => taskHandlers }] },
    });
  };
  const send: TaskHandler = ({ args }) => {
    sent.push(args);
    return { outcome: 'done' };
  };
  const opening = await hostWith('c1', { open });
  const sending = await hostWith('c2', { send });
  onTestFinished(async () => {
    await Promise.all([opening.stop(), sending.stop()]);
    await plane.close();
    expect(plane.violations).toEqual([]);
  });
  opening.start();
  await clock.until('c1 is active', () => plane.host('c1')?.state === 'active');
  const items = [{ key: 'x', target: { kind: 'host', id: 'c1' }, step: 'open' }];
  const operation = {
    id: OP,
    kind: 'carry',
    title: 'carry',
    by: 'test',
    nowMs: clock.nowMs(),
    deadlineMs: 3_600_000,
    items,
  };
  await plane.commit(() => accept(newOperation(operation), null));
  await clock.until('the line is open', () => open === untilStopped || itemOf(plane).step === 'send');
  await clock.pass(1000);
  return { clock, plane, opening, sending, sent, journal };
}

const itemOf = (plane: TestControlPlane): { readonly step: string; readonly state: string } =>
  plane.leader.journal.fleet.get(ITEM, idOf(ITEM, 'op-carry.x'))?.doc ?? { step: '', state: '' };

test('reaches-the-other-host-and-never-the-journal', async () => {
  const { clock, plane, sending, sent, journal } = await worldOf();
  sending.start();
  await clock.until('it was sent', () => itemOf(plane).state === 'done');
  expect(sent).toEqual([{ line: 'c1:7000', secret: SECRET }]);
  expect(journal.length).toBeGreaterThan(3);
  expect(journal.filter((text) => text.includes(SECRET))).toEqual([]);
});

test('is-gone-with-the-lease: the task is given without it', async () => {
  const { clock, plane, sending, sent } = await worldOf();
  await plane.leader.stop();
  await plane.start('s2', 's1');
  await clock.until('another decides', () => plane.hasLeader);
  sending.start();
  await clock.until('it was sent', () => itemOf(plane).state === 'done');
  expect(sent).toEqual([{}]);
});

test('never: facts of a host that was not asked are relayed', async () => {
  const { clock, plane, sending, sent } = await worldOf(untilStopped);
  const { gateway, journal } = plane.leader;
  const item = journal.fleet.get(ITEM, idOf(ITEM, 'op-carry.x'));
  const answerOf = (host: string, secret: string): Promise<unknown> => {
    const token = plane.tokens(host).find(({ doc }) => doc.role === 'agent')?.id;
    const answer = { task: item === undefined ? '' : taskId(item), outcome: 'done' as const, facts: { secret } };
    return gateway.observe({ host, token }, { answers: [answer] });
  };
  sending.start();
  await clock.until('c2 is active', () => plane.host('c2')?.state === 'active');
  // While the right one is being recorded.
  await Promise.all([answerOf('c1', SECRET), answerOf('c2', 'of another task')]);
  await clock.until('it was sent', () => itemOf(plane).state === 'done');
  expect(sent).toEqual([{ secret: SECRET }]);
});

test('relays-nothing-where-there-is-nothing', async () => {
  const { clock, plane, sending, sent } = await worldOf(answersWith({}));
  sending.start();
  await clock.until('it was sent', () => itemOf(plane).state === 'done');
  expect(sent).toEqual([{}]);
});
