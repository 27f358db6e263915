// A drained host has nothing left that has to be waited for, including instances that left it and are not connected on their new host.
// Checked in the back end itself, independently of how the product derives what is degraded.
import { idOf, type AppliedChange, type Fleet } from '../../src/fleet/index.ts';
import { HOST, type Host } from '../../src/hosts/index.ts';
import { INSTANCE, type Instance } from '../../src/instances/index.ts';
import { capabilitiesOf, isPlugged, PORTS_BY_INSTANCE } from '../../src/network/index.ts';
import type { World } from '../world/world.ts';
import type { Checker } from './checker.ts';
import { hostChanges } from './leaving.ts';

/** In these states it runs, or is moving. In the others it was decided on since: it is rebuilt, shelved or deleted. */
const IN_SERVICE: readonly Instance['state'][] = ['active', 'moving'];

/**
 * Instances that left a host before this removal do not count: it went back into service, or was removed by force with a reason while
 * something was not connected. A host that joins again and is ended before it was ever enabled has brought nothing with it.
 */
const BEGINS_ANEW: readonly Host['state'][] = ['active', 'removed', 'joining'];

interface Departure {
  readonly createdAtMs: number;
  /** The leaving hosts that it left since it was last connected. */
  readonly hosts: Set<string>;
}

export const settledBeforeDrained: Checker = {
  name: 'never: a host counts as drained while something that was moved off it is not connected',
  watch: (violated, world) => {
    const left = new Map<string, Departure>();
    return {
      onApplied: ({
        truth,
        applied,
        entry: {
          commit: { revision },
        },
      }) => {
        for (const change of applied) trackDeparture(truth, left, change);
        for (const id of left.keys()) if (isConnected(world, id)) left.delete(id);
        for (const { id: host, was, is } of hostChanges(applied)) {
          if (is !== undefined && BEGINS_ANEW.includes(is.state))
            for (const { hosts } of left.values()) hosts.delete(host);
          const isOut = is?.state === 'drained' || (is?.state === 'finalizing' && is.leaving?.forced === undefined);
          if (!isOut || was?.state === is?.state) continue;
          const [instance] = [...left].find(([, { hosts }]) => hosts.has(host)) ?? [];
          if (instance !== undefined)
            violated(`${host} is ${is?.state} at ${revision}, and ${instance}, which left it, is not connected`);
        }
      },
    };
  },
};

/** An instance that leaves a leaving host is followed until it is connected, or until it is decided on otherwise. */
function trackDeparture(truth: Fleet, left: Map<string, Departure>, { kind, before, after }: AppliedChange): void {
  const id = (after ?? before)?.id ?? '';
  if (kind !== INSTANCE.name) return;
  const [was, is] = [before?.doc as Instance | undefined, after?.doc as Instance | undefined];
  const known = left.get(id);
  if (is === undefined || !IN_SERVICE.includes(is.state) || known?.createdAtMs !== is.createdAtMs) left.delete(id);
  if (is?.state !== 'moving' || was?.host === undefined || was.host === is.host) return;
  if (truth.get(HOST, idOf(HOST, was.host))?.doc.state !== 'draining') return;
  const hosts = left.get(id)?.hosts ?? new Set();
  left.set(id, { createdAtMs: is.createdAtMs, hosts: hosts.add(was.host) });
}

function isConnected({ truth, network }: World, id: string): boolean {
  const host = truth.get(INSTANCE, idOf(INSTANCE, id))?.doc.host;
  return [...truth.find(PORTS_BY_INSTANCE, id)].every((port) => {
    if (port.doc.binding?.host !== host) return false;
    if (capabilitiesOf(truth, port.doc.network).inline) return true;
    const { binding } = network.backEnd.port(port.id) ?? {};
    return binding?.host === host && binding?.type === 'simulated' && isPlugged(truth, port);
  });
}
