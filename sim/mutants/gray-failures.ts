// Drains, elections and returns that wait for a service which no host can prepare, and with it hold up what could continue.
import { HOST, type Host } from '../../src/hosts/index.ts';
import { ITEM, type Item } from '../../src/operations/index.ts';
import { drainsAroundSick, recoversAroundSick } from '../checkers/drains.ts';
import { GRAY_FAILURES } from '../scenarios.ts';
import { mapDocuments, mapFleet, mapFound } from './altered-kind.ts';
import type { Mutant } from './mutant.ts';
import { withIndex, withKinds } from './planting.ts';

/** As if the target were only slow. */
function asBehind(doc: object): object {
  const item = doc as Item;
  return item.reason?.code === 'service-not-ready'
    ? { ...item, reason: { ...item.reason, code: 'hosts-behind' } }
    : item;
}

export const drainWaitsForSick: Mutant = {
  name: 'drain-waits-for-sick',
  bug: 'a drain moves no instance before every handover has ended, also one whose target cannot prepare the service',
  scenario: GRAY_FAILURES,
  likely: 5,
  caughtBy: [drainsAroundSick.name],
  plant: (parts) =>
    withKinds(parts, ['scale-in'], (kind) => mapFleet(kind, (fleet) => mapFound(fleet, ITEM.name, asBehind))),
};

export const sickUsesBudget: Mutant = {
  name: 'sick-uses-budget',
  bug: 'handovers whose target cannot prepare the service use the budget of the others',
  scenario: GRAY_FAILURES,
  likely: 7,
  caughtBy: [drainsAroundSick.name],
  plant: (parts) => withIndex(parts, 'handovers-blocked', (index) => ({ ...index, keysOf: () => [] })),
};

function asLeaving(doc: object): object {
  const host = doc as Host;
  return host.state === 'recovering' ? { ...host, state: 'draining' } : host;
}

export const returnIgnored: Mutant = {
  name: 'return-ignored',
  bug: 'a handover goes on although the host that it is to leave is wanted back',
  scenario: GRAY_FAILURES,
  likely: 5,
  caughtBy: [recoversAroundSick.name],
  plant: (parts) =>
    withKinds(parts, ['handover'], (kind) => mapFleet(kind, (fleet) => mapDocuments(fleet, HOST.name, asLeaving))),
};
