// The sequence of designations, and how hosts apply them: epochs only grow, one host serves at a time, and the old host is never retired
// before the others send to the new one.
import { readDataplaneView, servicesPart } from '../../src/dataplane/index.ts';
import { isBeforeSwitch, SERVICE, type Service } from '../../src/election/index.ts';
import { idOf, type AppliedChange, type Fleet } from '../../src/fleet/index.ts';
import { DESIGNATIONS_VERSION, HOST, isOutOfControl, type Host } from '../../src/hosts/index.ts';
import { TRANSPORT_ZONE } from '../../src/network/index.ts';
import type { HostMachine } from '../world/machine.ts';
import type { World } from '../world/world.ts';
import type { Checker } from './checker.ts';
import { hostChanges, presenceOf } from './leaving.ts';

interface ServiceChange {
  readonly id: string;
  readonly was: Service | undefined;
  readonly is: Service | undefined;
}

function serviceChanges(applied: readonly AppliedChange[]): ServiceChange[] {
  return applied.flatMap(({ kind, before, after }) => {
    const id = (after ?? before)?.id;
    if (kind !== SERVICE.name || id === undefined) return [];
    return [{ id, was: before?.doc as Service | undefined, is: after?.doc as Service | undefined }];
  });
}

/** Also when a service is removed and one of the same name is created. */
export const epochsGrow: Checker = {
  name: 'never: a designation has an epoch that one before it had',
  watch: (violated) => {
    const highest = new Map<string, { readonly epoch: number; readonly host: string }>();
    return {
      onApplied: ({ applied }) => {
        for (const { id, is } of serviceChanges(applied)) {
          if (is?.designated === undefined) continue;
          const before = highest.get(id);
          const { host } = is.designated;
          const grown =
            before === undefined || is.epoch > before.epoch || (is.epoch === before.epoch && host === before.host);
          if (!grown) violated(`${id}: ${host} has epoch ${is.epoch}, ${before.host} had ${before.epoch}`);
          highest.set(id, { epoch: is.epoch, host });
        }
      },
    };
  },
};

export const oneDesignatedHost: Checker = {
  name: 'never: two hosts have a view in which they serve one service',
  watch: (violated) => ({
    onApplied: ({ truth, applied }) => {
      const changed = new Set(serviceChanges(applied).map(({ id }) => id));
      if (changed.size === 0) return;
      const doing = new Map<string, string>();
      for (const { id: host } of truth.all(HOST)) {
        const services =
          readDataplaneView(host, { peers: [], services: servicesPart.build(truth, host) })?.services ?? [];
        for (const { id, role } of services) {
          if (role !== 'designated' || !changed.has(id)) continue;
          const other = doing.get(id);
          if (other !== undefined) violated(`${id}: ${other} and ${host}`);
          doing.set(id, host);
        }
      }
    },
  }),
};

/**
 * A host that was reachable during a whole phase has applied it when the next phase begins. Of the hosts that are repointed, only those
 * involved in the service during the whole phase count: a host that becomes involved meanwhile gets the newest state, and is not waited
 * for.
 */
export const makeBeforeBreak: Checker = {
  name: 'never: a handover goes on before those concerned have followed',
  watch: (violated, world) => {
    const connectedSince = new Map<string, number>();
    const phaseSince = new Map<string, number>();
    const presentSince = new Map<string, ReadonlySet<string>>();
    return {
      onApplied: ({
        truth,
        applied,
        entry: {
          commit: { revision },
        },
      }) => {
        for (const { id, was, is } of hostChanges(applied)) {
          if (canFollow(is) !== canFollow(was)) connectedSince.set(id, canFollow(is) ? revision : Infinity);
        }
        for (const [id, before] of presentSince) {
          const service = truth.get(SERVICE, idOf(SERVICE, id))?.doc;
          const now = service === undefined ? new Set<string>() : presenceOf(truth, service);
          presentSince.set(id, new Set([...before].filter((host) => now.has(host))));
        }
        for (const { id, was, is } of serviceChanges(applied)) {
          const since = phaseSince.get(id) ?? Infinity;
          if (was !== undefined && is !== undefined) {
            const behind = hostsToFollow(was, is, presentSince.get(id)).filter((host) => {
              const isConnected = (connectedSince.get(host) ?? Infinity) < since;
              return isConnected && isBehind(machineOf(world, host), id, was);
            });
            if (behind.length > 0)
              violated(`${id} leaves ${was.handover?.phase} at ${revision} without ${behind.join(', ')}`);
          }
          if (phaseOf(was) === phaseOf(is)) continue;
          phaseSince.set(id, revision);
          if (is?.handover?.phase === 'switched') presentSince.set(id, presenceOf(truth, is));
          else presentSince.delete(id);
        }
      },
    };
  },
};

function phaseOf(service: Service | undefined): string {
  const { handover, epoch } = service ?? {};
  return handover === undefined ? '' : `${handover.phase} ${handover.to} ${epoch}`;
}

function isReachable(host: Host | undefined): boolean {
  return host?.connection.state === 'up' && host.quarantined === undefined && host.forcedDown === undefined;
}

/** An agent from before services does not touch its switch, and one without control cannot: neither can be waited for. */
function canFollow(host: Host | undefined): boolean {
  const isInformed = isReachable(host) && !isOutOfControl(host ?? {});
  return isInformed && (host?.serviceVersion ?? 0) >= DESIGNATIONS_VERSION;
}

/** The hosts that must have applied the phase that ends; none when it ends by being cancelled. */
function hostsToFollow(was: Service, is: Service, present: ReadonlySet<string> = new Set()): string[] {
  const { handover } = was;
  if (handover === undefined) return [];
  const goesOn = is.handover?.operation === handover.operation;
  if (isBeforeSwitch(handover)) {
    const isNext =
      is.handover?.phase === 'switched' || (handover.phase === 'preparing' && is.handover?.phase === 'syncing');
    return goesOn && isNext && is.handover?.to === handover.to ? [handover.to] : [];
  }
  if (handover.phase === 'switched' && goesOn && is.handover?.phase === 'retiring')
    return [...present, handover.to].filter((host) => host !== handover.from);
  return [];
}

function machineOf({ machines }: World, host: string): HostMachine | undefined {
  return machines.find(({ name }) => name === host);
}

/** It follows an older state of the service. One that does not know of it at all has just got something of it. */
function isBehind(machine: HostMachine | undefined, id: string, { epoch, handover }: Service): boolean {
  const shown = readDataplaneView(machine?.name ?? '', machine?.view?.parts ?? {})?.services.find(
    (one) => one.id === id,
  );
  if (handover !== undefined && isBeforeSwitch(handover))
    return shown?.role !== 'preparing' && (shown?.epoch ?? 0) <= epoch;
  return shown !== undefined && shown.epoch < epoch;
}

/** A designated host must be able to serve at that very moment; a leaving host is designated only if no other host can. */
export const designatedToEligible: Checker = {
  name: 'never: a service goes to a host that cannot do it, or that leaves while another could have it',
  watch: (violated) => ({
    onApplied: ({ truth, applied }) => {
      for (const { id, was, is } of serviceChanges(applied)) {
        const host = is?.designated?.host;
        if (is === undefined || host === undefined || host === was?.designated?.host) continue;
        const able = [...presenceOf(truth, is)].filter((one) => isEligible(truth, is, one));
        const leaves = truth.get(HOST, idOf(HOST, host))?.doc.leaving !== undefined;
        if (!leaves && !able.includes(host)) violated(`${id} goes to ${host}, which cannot do it`);
        // Until its handover ends the old host has the connections: it continues if the next one is lost.
        const { handover } = was ?? {};
        const hasConnections = handover !== undefined && !isBeforeSwitch(handover) && handover.from === host;
        if (leaves && able.length > 0 && !hasConnections)
          violated(`${id} goes to ${host}, and ${able[0]} could have it`);
      }
    },
  }),
};

export function isEligible(truth: Fleet, { type }: Service, name: string): boolean {
  const host = truth.get(HOST, idOf(HOST, name))?.doc;
  if (host?.state !== 'active' || !isReachable(host) || isOutOfControl(host)) return false;
  if (host.switch?.datapathId === undefined) return false;
  const zone = host.transportZone ?? 'default';
  const hasZone = truth.get(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, zone)) !== undefined;
  const reaches = type !== 'nat' || host.physicalNetworks.includes('p1');
  return host.tunnelAddress !== undefined && hasZone && host.serviceVersion >= DESIGNATIONS_VERSION && reaches;
}
