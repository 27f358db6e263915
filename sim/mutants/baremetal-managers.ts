// Managers of bare-metal nodes, their leases and the machines that they call, with one bug each.
import { MANAGER_LEASES } from '../../src/baremetal/service-keys.ts';
import { MACHINE, type Machine } from '../../src/baremetal/drivers/simulated/model.ts';
import type { MachineDriver } from '../../src/baremetal/drivers/inventory.ts';
import type { ManagerPorts } from '../../src/baremetal/manager/ports.ts';
import { managerLease, type InventoryName } from '../../src/baremetal/model.ts';
import { NODE } from '../../src/baremetal/index.ts';
import { idOf } from '../../src/fleet/index.ts';
import type { Reply } from '../../src/link/index.ts';
import type { LeaseResponse } from '../../src/baremetal/managers/messages.ts';
import { callsApart, callsAwaited, callsEntitled, callsForOwnInstance, deployedOnce } from '../checkers/nodes/calls.ts';
import { freeMachineIsEmpty } from '../checkers/nodes/documents.ts';
import { takenOverAfterLease } from '../checkers/nodes/tenures.ts';
import { leaseExclusive } from '../checkers/lease.ts';
import { BAREMETAL } from '../scenarios.ts';
import { AT_REST } from '../seed-properties.ts';
import type { BaremetalParts, SimParts } from '../world/parts.ts';
import { mapDocuments } from './altered-kind.ts';
import { databaseMutant } from './database.ts';
import type { Mutant } from './mutant.ts';
import { withRunningPart } from './planting.ts';

function withBaremetal(parts: SimParts, change: (baremetal: BaremetalParts) => Partial<BaremetalParts>): SimParts {
  return { ...parts, baremetal: { ...parts.baremetal, ...change(parts.baremetal) } };
}

export const rightNotChecked: Mutant = {
  name: 'right-not-checked',
  bug: 'whoever calls a machine is taken for its manager',
  scenario: BAREMETAL,
  caughtBy: [callsEntitled.name],
  plant: (parts) => withBaremetal(parts, () => ({ denyUnlessManages: () => undefined })),
};

export const lapsedLeaseCounts: Mutant = {
  name: 'lapsed-lease-counts',
  bug: 'a manager may act until it is declared lost, however long its lease has been over',
  scenario: BAREMETAL,
  likely: 19,
  caughtBy: [callsEntitled.name],
  plant: (parts) =>
    withBaremetal(parts, ({ denyUnlessManages }) => ({
      denyUnlessManages: (fleet, claimed) => denyUnlessManages(fleet, { ...claimed, isLeaseLive: () => true }),
    })),
};

export const instanceNotCompared: Mutant = {
  name: 'instance-not-compared',
  bug: 'neither the control plane nor the machine asks whose instance a call is for: the epoch is taken to say it',
  scenario: BAREMETAL,
  likely: 5,
  caughtBy: [callsEntitled.name, callsForOwnInstance.name],
  plant: (parts) =>
    withBaremetal(parts, ({ actOnMachine, denyUnlessManages }) => ({
      actOnMachine: (fleet, command, denyUnlessEntitled) => {
        const { instance } = command.call;
        const asOwn = (doc: object): object => ('instance' in doc ? { ...doc, instance } : doc);
        return actOnMachine(mapDocuments(fleet, MACHINE.name, asOwn), command, denyUnlessEntitled);
      },
      denyUnlessManages: (fleet, claimed) =>
        denyUnlessManages(fleet, { ...claimed, instance: fleet.get(NODE, idOf(NODE, claimed.node))?.doc.instance }),
    })),
};

export const epochNotCompared: Mutant = {
  name: 'node-epoch-not-compared',
  bug: 'the control plane does not ask under which epoch a call was made: machines do',
  scenario: BAREMETAL,
  likely: 14,
  caughtBy: [callsEntitled.name, callsApart.name],
  plant: (parts) =>
    withBaremetal(parts, ({ denyUnlessManages }) => ({
      denyUnlessManages: (fleet, claimed) =>
        denyUnlessManages(fleet, { ...claimed, nodeEpoch: fleet.get(NODE, idOf(NODE, claimed.node))?.doc.epoch ?? 0 }),
    })),
};

export const lateCallObeyed: Mutant = {
  name: 'late-call-obeyed',
  bug: 'a call that comes when its work is long over is carried out, since its manager has the right still',
  scenario: BAREMETAL,
  likely: 20,
  caughtBy: [callsAwaited.name, freeMachineIsEmpty.name, deployedOnce.name, AT_REST],
  plant: (parts) => withBaremetal(parts, () => ({ denyUnlessAwaited: () => undefined })),
};

/** Where machines compare epochs they refuse it; where they do not, nothing else stands between it and the next manager. */
export const managerTrustsItsLease: Mutant = {
  name: 'manager-trusts-its-lease',
  bug: 'a manager takes its lease to last long after it was asked for: awake after a pause it goes on with what it was doing',
  scenario: BAREMETAL,
  likely: 23,
  caughtBy: [callsEntitled.name, callsApart.name],
  plant: (parts) => ({
    ...parts,
    manager: (ports, options) => parts.manager({ ...ports, link: withLongerLeases(ports.link) }, options),
  }),
};

const LONGER_MS = 120_000;

function withLongerLeases(link: ManagerPorts['link']): ManagerPorts['link'] {
  return {
    ...link,
    register: async (...call) => prolong(await link.register(...call)),
    renew: async (...call) => prolong(await link.renew(...call)),
  };
}

function prolong(said: Reply<LeaseResponse>): Reply<LeaseResponse> {
  if (said.kind !== 'answer') return said;
  return { ...said, answer: { ...said.answer, remainingMs: said.answer.remainingMs + LONGER_MS } };
}

export const cleaningSkipped: Mutant = {
  name: 'cleaning-skipped',
  bug: 'a manager says that a machine is clean, and has not called it',
  scenario: BAREMETAL,
  caughtBy: [freeMachineIsEmpty.name],
  plant: (parts) => ({
    ...parts,
    manager: (ports, options) => {
      const drivers = [...ports.drivers].map(([name, driver]) => [name, withoutCleaning(driver)] as const);
      return parts.manager({ ...ports, drivers: new Map<InventoryName, MachineDriver>(drivers) }, options);
    },
  }),
};

function withoutCleaning(driver: MachineDriver): MachineDriver {
  return {
    name: driver.name,
    inspect: (...call) => driver.inspect(...call),
    carryOut: async (call, how) => (call.action === 'clean' ? { kind: 'applied' } : driver.carryOut(call, how)),
  };
}

export const deployRepeated: Mutant = {
  name: 'deploy-repeated',
  bug: 'a deploy that is asked for again is carried out again, although the machine has it',
  scenario: BAREMETAL,
  caughtBy: [deployedOnce.name],
  plant: (parts) =>
    withBaremetal(parts, ({ actOnMachine }) => ({
      actOnMachine: (fleet, command, denyUnlessEntitled) => {
        const seen = command.call.action === 'deploy' ? mapDocuments(fleet, MACHINE.name, emptyMachine) : fleet;
        return actOnMachine(seen, command, denyUnlessEntitled);
      },
    })),
};

function emptyMachine(doc: object): Machine {
  return { ...(doc as Machine), state: 'empty' };
}

export const managerLeaseRevived = databaseMutant(
  {
    name: 'manager-lease-revived',
    bug: 'the lease of a manager that has run out is renewed by whoever had it',
    scenario: BAREMETAL,
    caughtBy: [leaseExclusive.name],
  },
  (inner, disk) => ({
    renewLease: async (request) => {
      const { name, holder, url, ttlMs, epoch, endsWith = 'session' } = request;
      const stored = disk.state.leases.get(name);
      const isOwn = stored?.epoch === epoch && stored.holder === holder;
      if (!name.startsWith(managerLease('')) || !isOwn) return inner.renewLease(request);
      const lease = { name, holder, url, epoch, expiresAtMs: disk.nowMs() + ttlMs, endsWith };
      disk.change((state) => state.leases.set(name, lease));
      disk.flush();
      return { kind: 'held', lease: { name, holder, url, epoch, expiresInMs: ttlMs } };
    },
  }),
);

const TOO_EARLY_MS = 9000;

export const takenOverTooEarly: Mutant = {
  name: 'taken-over-too-early',
  bug: 'a manager that has missed a renewal is lost, although its lease lasts for some seconds more',
  scenario: BAREMETAL,
  caughtBy: [takenOverAfterLease.name],
  plant: (parts) =>
    withRunningPart(parts, MANAGER_LEASES, (runtime, production) => {
      const leases = production(runtime);
      const find = leases.find.bind(leases);
      leases.find = (manager) => {
        const lease = find(manager);
        return lease && { ...lease, expiresInMs: lease.expiresInMs - TOO_EARLY_MS };
      };
      return leases;
    }),
};

/** As if offers were distinguished only by whether there is one: nodes of a manager that ends while those of another are being acquired stay where they are. */
export const offerNotAnnounced: Mutant = {
  name: 'offer-not-announced',
  bug: 'a manager that was offered nodes is not offered those that come after them',
  scenario: BAREMETAL,
  likely: 10,
  caughtBy: [AT_REST],
  plant: (parts) => ({
    ...parts,
    manager: (ports, options) => parts.manager({ ...ports, link: withOneOffer(ports.link) }, options),
  }),
};

function withOneOffer(link: ManagerPorts['link']): ManagerPorts['link'] {
  let wasOffered = false;
  return {
    ...link,
    tasks: async (...call) => {
      const said = await link.tasks(...call);
      if (said.kind !== 'answer' || said.answer.kind === 'unchanged') return said;
      const isKnown = wasOffered;
      wasOffered = said.answer.offered > 0;
      return isKnown ? { ...said, answer: { ...said.answer, offered: 0 } } : said;
    },
  };
}
