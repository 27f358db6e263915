// The end of every world whose hosts leave and join: machines get power, all hosts are trusted again, instances and routers are deleted,
// and then every leaving host is removed or comes back. Nothing may be left.
import { idOf, valueOf } from '../../src/fleet/index.ts';
import { ELECTION, SERVICE } from '../../src/election/index.ts';
import { evacuatorsOf, clearForceDown, endScaleIn, HOST, recoverHosts, startScaleIn } from '../../src/hosts/index.ts';
import { PENDING_CLEAN_UP } from '../../src/hosts/scale-in/pending-clean-up.ts';
import { reAdmitHost } from '../../src/hosts/join/re-admit.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import {
  deleteFloatingAddress,
  disassociateFloatingAddress,
} from '../../src/network/routers/decide-floating-address.ts';
import { deleteRouter } from '../../src/network/routers/decide.ts';
import { FLOATING_ADDRESS, ROUTER, SUBNET } from '../../src/network/index.ts';
import { OPERATION } from '../../src/operations/index.ts';
import { tracesOn } from '../checkers/switches.ts';
import type { Operator } from '../world/operator.ts';
import type { World } from '../world/world.ts';
import { plain, type Decide } from './commands.ts';
import { deleteEverything, leftoverInstances } from './instance-cleanup.ts';
import { changeSettingTo } from './scale-in-setup.ts';

const EVACUATORS = evacuatorsOf(PROGRAM);

const ROUNDS_MAX = 6;
const ROUND_MS = 8000;
const DAY_MS = 24 * 3600 * 1000;

export async function removeEverything(world: World, giveTokens: () => Promise<void>): Promise<void> {
  const { truth } = world;
  const operator = world.newOperator('finisher');
  for (const machine of world.machines) {
    if (!machine.powered) machine.getPower();
    machine.replaceAgent(undefined);
  }
  const ask = asker(operator);
  const on = { ...valueOf(truth, ELECTION), held: false };
  await ask('elections', changeSettingTo(ELECTION, on, 'finisher'));
  await restoreTrust(world, ask);
  await giveTokens();
  await deleteEverything(world);
  for (let round = 1; round <= ROUNDS_MAX && leftoverHosts(world).length > 0; round += 1) {
    await deleteRouters(world, ask);
    await leaveOrStay(world, ask, round);
    await operator.pause(ROUND_MS);
    await restoreTrust(world, ask);
    await giveTokens();
  }
}

export type Ask = (what: string, decide: Decide) => Promise<unknown>;

function asker(operator: Operator): Ask {
  let requests = 0;
  return (what, decide) => operator.ask(plain(`finisher-${(requests += 1)}-${what}`, decide));
}

export async function restoreTrust({ truth }: World, ask: Ask): Promise<void> {
  const by = 'finisher';
  for (const { id, doc } of [...truth.all(HOST)]) {
    if (doc.state === 'removed') continue;
    if (doc.forcedDown !== undefined) await ask(`up-${id}`, (fleet, nowMs) => clearForceDown(fleet, { id, by, nowMs }));
    if (truth.get(HOST, id)?.doc.quarantined !== undefined)
      await ask(`trust-${id}`, (fleet, nowMs) => reAdmitHost(fleet, { id, reason: by, by, nowMs }));
  }
}

async function deleteRouters({ truth }: World, ask: Ask): Promise<void> {
  for (const { id } of [...truth.all(FLOATING_ADDRESS)]) {
    await ask(`loose-${id}`, (fleet, nowMs) => disassociateFloatingAddress(fleet, { id, by: 'finisher', nowMs }));
    await ask(`sink-${id}`, (fleet) => deleteFloatingAddress(fleet, { id }));
  }
  for (const { id } of [...truth.all(ROUTER)]) await ask(`unroute-${id}`, (fleet) => deleteRouter(fleet, { id }));
}

/** Every second leaving host is removed; the others come back. */
async function leaveOrStay({ truth }: World, ask: Ask, round: number): Promise<void> {
  const leaving = [...truth.all(HOST)].filter(({ doc }) => doc.state === 'draining' || doc.state === 'drained');
  for (const { id, doc } of leaving) {
    const operation = idOf(OPERATION, `op-finish-${round}-${id}`);
    const how = { hosts: [id], operation, by: 'finisher' };
    const ends = Number(id.slice(1)) % 2 === 0;
    // One whose deadline has passed continues when it is retried.
    if (ends && doc.state === 'draining') {
      const again = { ...how, drain: true, deadlineMs: DAY_MS };
      await ask(`start-${id}`, (fleet, nowMs) => startScaleIn(fleet, EVACUATORS, { ...again, nowMs }));
      continue;
    }
    await ask(`${ends ? 'end' : 'recover'}-${id}`, (fleet, nowMs) =>
      ends
        ? endScaleIn(fleet, EVACUATORS, { ...how, disconnect: true, nowMs })
        : recoverHosts(fleet, { ...how, failBack: false, nowMs }),
    );
  }
}

export function leftoverHosts(world: World): string[] {
  const { truth, machines } = world;
  const removed = [...truth.all(HOST)].filter(({ doc }) => doc.state === 'removed');
  return [
    ...leftoverInstances(world),
    ...[...truth.all(HOST)].flatMap(({ id, doc }) =>
      doc.state === 'removed' || doc.state === 'active' || doc.state === 'joining'
        ? []
        : [`host ${id} is ${doc.state}`],
    ),
    ...[...truth.all(SERVICE)].flatMap(({ id, doc }) => {
      const { subject, type } = doc;
      const there = type === 'dhcp' && truth.get(SUBNET, idOf(SUBNET, subject))?.doc.dhcp === true;
      if (!there) return [`service ${id} is left without its subject`];
      return doc.designated === undefined ? [] : [`service ${id} is at ${doc.designated.host}, where nothing is`];
    }),
    ...[...truth.all(PENDING_CLEAN_UP)].map(({ id }) => `${id} is still to be cleaned`),
    ...machines
      .filter(({ name }) => truth.get(HOST, idOf(HOST, name))?.doc.state === 'active')
      .flatMap((machine) =>
        removed.flatMap(({ id }) => tracesOn(machine, id).map((what) => `${what} of removed ${id} on ${machine.name}`)),
      ),
  ];
}
