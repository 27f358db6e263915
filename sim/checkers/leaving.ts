// Leaving hosts: no host passes the point of no return while it has instances or may have connections, and none comes back except by an
// operator's command. Checked independently of the product's own evidence.
import { SERVICE, type Service } from '../../src/election/index.ts';
import { idOf, type AppliedChange, type Fleet, type FleetReader } from '../../src/fleet/index.ts';
import { HOST, type Host } from '../../src/hosts/index.ts';
import { INSTANCE, type Instance } from '../../src/instances/index.ts';
import { CLAIM, PORT, ROUTER, type Claim, type Port } from '../../src/network/index.ts';
import { OPEN_ITEMS_BY_TARGET, targetKey } from '../../src/operations/index.ts';
import type { Ledger } from '../world/ledger.ts';
import type { Checker } from './checker.ts';

/** The hosts that have a port of the subnets that a service is for. */
export function presenceOf(truth: FleetReader, { type, subject }: Pick<Service, 'type' | 'subject'>): Set<string> {
  const subnets = type === 'nat' ? (truth.get(ROUTER, idOf(ROUTER, subject))?.doc.subnets ?? []) : [subject];
  const hosts = new Set<string>();
  for (const { doc } of truth.all(PORT)) {
    const host = doc.binding?.host;
    if (host === undefined) continue;
    if (doc.addresses.some(({ subnet }) => subnets.includes(subnet))) hosts.add(host);
  }
  return hosts;
}

interface Tenancy {
  readonly what: string;
  readonly instance: string | undefined;
}

function tenantsOn(truth: Fleet, host: string): Tenancy[] {
  return [
    ...[...truth.all(INSTANCE)].flatMap(({ id, doc }) =>
      doc.host === host ? [{ what: `instance ${id}`, instance: id }] : [],
    ),
    ...[...truth.all(CLAIM)].flatMap(({ id, doc }) =>
      doc.host === host ? [{ what: `claim ${id}`, instance: doc.instance }] : [],
    ),
    ...[...truth.all(PORT)].flatMap(({ id, doc }) =>
      doc.binding?.host === host ? [{ what: `port ${id}`, instance: doc.instance }] : [],
    ),
  ];
}

/** What keeps a host from leaving. A service that no other host is involved in ends with it. */
export function occupantsOf(truth: Fleet, host: string): string[] {
  return [
    ...tenantsOn(truth, host).map(({ what }) => what),
    ...[...truth.all(SERVICE)].flatMap(({ id, doc }) => {
      const touches = [doc.designated?.host, doc.handover?.from, doc.handover?.to].includes(host);
      const elsewhere = [...presenceOf(truth, doc)].some((other) => other !== host);
      return touches && elsewhere ? [`service ${id}`] : [];
    }),
  ];
}

/** The last recorded state of a removed host before its removal. */
export function beforeRemoval({ entries }: Ledger, host: string): Host | undefined {
  for (const { changes } of entries.toReversed()) {
    const change = changes.find(({ kind, id }) => kind === HOST.name && id === host);
    const doc = change?.doc as Host | null | undefined;
    if (change !== undefined && doc?.state !== 'removed') return doc ?? undefined;
  }
  return undefined;
}

interface HostChange {
  readonly id: string;
  readonly was: Host | undefined;
  readonly is: Host | undefined;
}

export function hostChanges(applied: readonly AppliedChange[]): HostChange[] {
  return applied.flatMap(({ kind, before, after }) => {
    const id = (after ?? before)?.id;
    if (kind !== HOST.name || id === undefined) return [];
    return [{ id, was: before?.doc as Host | undefined, is: after?.doc as Host | undefined }];
  });
}

/**
 * A removal by force removes what is on the host, too, except what an operation works on, or would after a repeated delete request. That
 * operation finds the host removed, and ends.
 */
export const removedWithTenants: Checker = {
  name: 'never: something lives on a removed host without an operation that clears it, or comes to one',
  watch: (violated) => ({
    onApplied: ({
      truth,
      applied,
      entry: {
        commit: { revision },
      },
    }) => {
      for (const { id, was, is } of hostChanges(applied)) {
        if (is?.state !== 'removed' || was?.state === 'removed') continue;
        const left = leftoversOn(truth, id).find(({ instance }) => !isBusy(truth, instance));
        if (left !== undefined) violated(`${id} has ${left.what} at ${revision}`);
      }
      for (const { kind, before, after } of applied) {
        const [from, to] = [before, after].map((side) => placeOf(kind, side?.doc));
        const isGone = to !== undefined && truth.get(HOST, idOf(HOST, to))?.doc.state === 'removed';
        if (isGone && to !== from) violated(`${kind} ${after?.id} comes to removed ${to} at ${revision}`);
      }
    },
  }),
};

/** The copies on a host of instances that are not to be deleted. */
export function leftoversOn(truth: Fleet, host: string): Tenancy[] {
  const isDeleted = (instance: string): boolean =>
    truth.get(INSTANCE, idOf(INSTANCE, instance))?.doc.state === 'deleting';
  return tenantsOn(truth, host).filter(({ instance }) => instance === undefined || !isDeleted(instance));
}

/** The host of what such a document describes. */
function placeOf(kind: string, doc: object | undefined): string | undefined {
  if (kind === PORT.name) return (doc as Port | undefined)?.binding?.host;
  return kind === INSTANCE.name || kind === CLAIM.name ? (doc as Instance | Claim | undefined)?.host : undefined;
}

function isBusy(truth: FleetReader, instance: string | undefined): boolean {
  return instance !== undefined && truth.countOf(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, instance)) > 0;
}

export const finalizedOnEvidence: Checker = {
  name: 'never: a host is past the point of no return while something lives there or its agent may be connected',
  watch: (violated) => ({
    onApplied: ({ truth, applied, entry: { commit } }) => {
      for (const { id, was, is } of hostChanges(applied)) {
        if (is?.state !== 'finalizing' || was?.state === 'finalizing' || is.leaving?.forced !== undefined) continue;
        const { state } = is.connection;
        if ((state === 'up' || state === 'suspect') && is.forcedDown === undefined)
          violated(`${id} is ${state} at ${commit.revision}`);
        // It did not come in: the documents that name it are left from an earlier removal by force.
        const [tenant] = is.readmitted === true ? [] : occupantsOf(truth, id);
        if (tenant !== undefined) violated(`${id} has ${tenant} at ${commit.revision}`);
      }
    },
  }),
};

/** The operations that hosts are to join. */
const JOINERS = /^(admin-\d+-join|installer-\d+)$/;

export const rejoinedByOperator: Checker = {
  name: 'never: a removed host comes back without a join',
  watch: (violated) => ({
    onApplied: ({ applied, entry: { commit } }) => {
      for (const { id, was, is } of hostChanges(applied)) {
        if (was?.state !== 'removed' || is?.state === 'removed') continue;
        if (!JOINERS.test(commit.by)) violated(`${id} became ${is?.state ?? 'nothing'} by ${commit.by}`);
      }
    },
  }),
};

/** Rebuilt elsewhere after an operator fenced the host: whatever it still runs, it is untrusted until it is re-admitted. */
export const operatorFencedDistrusted: Checker = {
  name: 'never: a host is connected and trusted whose instances were built elsewhere because it was said to be off',
  watch: (violated) => ({
    onApplied: ({ applied, entry: { commit } }) => {
      for (const { id, was, is } of hostChanges(applied)) {
        // It leaves quarantine only by an operator's command.
        if (is?.leaving?.rebuilt !== true || is.quarantined !== undefined || was?.quarantined !== undefined) continue;
        const isForcedDown = is.forcedDown !== undefined || was?.forcedDown !== undefined;
        if (isForcedDown && is.connection.state === 'up')
          violated(`${id} is connected at ${commit.revision}, and trusted`);
      }
    },
  }),
};
