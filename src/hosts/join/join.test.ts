import { idOf, put, type Change, type FleetReader } from '../../fleet/index.ts';
import type { Journal } from '../../journal/index.ts';
import { accessModel, TOKEN } from '../../access/index.ts';
import { alarmsModel } from '../../alarms/index.ts';
import { ITEMS_BY_OPERATION, itemOfTask, recordStep, taskId, type StoredItem } from '../../operations/index.ts';
import { torture } from '../../operations/torture.ts';
import type { TortureSubject } from '../../operations/torture-world.ts';
import { SITE, sitesModel } from '../../sites/index.ts';
import { joinHosts } from '../decide.ts';
import { hostJoin } from './join.ts';
import { recordTransitions } from '../liveness/plan.ts';
import { hostsModel } from '../fleet-model.ts';
import { HOST } from '../model.ts';

const names = ['c1', 'c2', 'c3'];

/** The agents: each joins, sends a heartbeat, and answers the task in its view; each in a commit of its own. */
async function agents(journal: Journal, nowMs: number): Promise<void> {
  for (const { id, doc } of journal.fleet.all(HOST)) {
    if (doc.credential === undefined) {
      await journal.submit({
        by: 'agent',
        decide: (fleet) => {
          const host = fleet.get(HOST, id);
          const changes = host === undefined ? [] : [put(HOST, id, { ...host.doc, credential: `t-${id}` })];
          return { kind: 'accept', changes, answer: null };
        },
      });
    } else if (doc.connection.state === 'unknown') {
      const transitions = [{ host: id, from: 'unknown', to: 'up' } as const];
      await journal.submit({ by: 'liveness', decide: (fleet) => recordTransitions(fleet, transitions, nowMs) });
    }
  }
  for (const item of journal.fleet.find(ITEMS_BY_OPERATION, 'op-torture')) await answer(journal, item, nowMs);
}

async function answer(journal: Journal, item: StoredItem, nowMs: number): Promise<void> {
  const task = hostJoin.task?.(item, { fleet: journal.fleet });
  if (task === undefined || itemOfTask(taskId(item)) !== item.id) return;
  // The first check finds a fault, the second does not.
  const outcome = item.doc.attempt === 1 ? ('failed' as const) : ('done' as const);
  const next = hostJoin.handleTaskAnswer?.(
    item,
    { task: taskId(item), outcome, problems: ['no bridge'] },
    { fleet: journal.fleet, nowMs },
  );
  if (next !== undefined) await journal.submit({ by: 'agent', decide: (fleet) => recordStep(fleet, next, nowMs) });
}

const notActive = (fleet: FleetReader): string[] =>
  names
    .filter((name) => fleet.get(HOST, idOf(HOST, name))?.doc.state !== 'active')
    .map((name) => `${name} is not active`);

const stillJoining = (fleet: FleetReader): string[] =>
  [...fleet.all(HOST)].filter((host) => host.doc.state === 'joining').map((host) => `${host.id} is still joining`);

const openTokens = (fleet: FleetReader): string[] =>
  [...fleet.all(TOKEN)]
    .filter(({ doc }) => doc.revoked === undefined && fleet.get(HOST, idOf(HOST, doc.host ?? '')) === undefined)
    .map(({ id }) => `${id} is a valid join token of a host that was forgotten`);

const joinToken = (name: string): Change =>
  put(TOKEN, idOf(TOKEN, `tk-${name}`), {
    name: `join/${name}`,
    role: 'join',
    host: name,
    hash: 'a'.repeat(64),
    createdAtMs: 0,
    createdBy: 'test',
  });

const subject: TortureSubject = {
  name: 'host-join',
  models: [accessModel, sitesModel, alarmsModel, hostsModel],
  kind: hostJoin,
  prepare: [
    put(SITE, idOf(SITE, 'central'), { name: 'central', changedBy: 'test', changedAtMs: 0 }),
    ...names.map(joinToken),
  ],
  start: (operation, nowMs) => ({
    by: 'test',
    decide: (fleet) =>
      joinHosts(fleet, {
        hosts: names.map((name) => ({ name })),
        operation,
        deadlineMs: 36_000_000,
        by: 'test',
        nowMs,
      }),
  }),
  world: agents,
  wrongWhenDone: notActive,
  wrongWhenCancelled: (fleet) => [...stillJoining(fleet), ...openTokens(fleet)],
};

torture(subject);
