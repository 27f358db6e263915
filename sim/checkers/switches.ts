// The real contents of switches, compared with the journal: when a host is removed, no view has it any more, and every host that still has
// something of it on its switch is recorded.
import { composeView } from '../../src/agent/index.ts';
import { compile, readDataplaneView, EMPTY_COMPILE_RESULT } from '../../src/dataplane/index.ts';
import { idOf } from '../../src/fleet/index.ts';
import { HOST, type Host } from '../../src/hosts/index.ts';
import { PENDING_CLEAN_UP, pendingId } from '../../src/hosts/scale-in/pending-clean-up.ts';
import type { HostMachine } from '../world/machine.ts';
import { viewSource } from '../world/parts.ts';
import type { World } from '../world/world.ts';
import type { Checker } from './checker.ts';
import { hostChanges } from './leaving.ts';

/** What a machine's switch has for a host: by its name, or by an address that only it has in these worlds. */
export function tracesOn({ switch: { contents } }: HostMachine, host: string): string[] {
  return tracesIn(contents, host);
}

function tracesIn(contents: HostMachine['switch']['contents'], host: string): string[] {
  const address = new RegExp(`\\b(?:192\\.0\\.2|198\\.51\\.100)\\.${host.slice(1)}\\b`);
  return [
    ...contents.tunnels.flatMap(({ peer }) => (peer === host ? ['a tunnel'] : [])),
    ...contents.flows.flatMap((flow) => (address.test(`${flow.match} ${flow.actions}`) ? [`flow ${flow.match}`] : [])),
    ...contents.groups.flatMap(({ id, buckets }) => (address.test(buckets.join(' ')) ? [`group ${id}`] : [])),
  ];
}

/** The data plane parts of a host's current view. */
function dataplaneViewOf(world: World, host: string): ReturnType<typeof readDataplaneView> {
  const { truth, disk } = world;
  const { parts } = composeView(truth, viewSource(world), host, { journalId: disk.journalId, leaseEpoch: 1 });
  return readDataplaneView(host, parts);
}

/** The contents of a host's switch if it had converged on its current view. */
export function desiredContents(world: World, host: string): ReturnType<typeof compile>['contents'] | undefined {
  const view = dataplaneViewOf(world, host);
  return view && compile(view).contents;
}

/** The NAT services that a machine does not serve, and has connections of. */
export function leftoverConnections(world: World, machine: HostMachine): string[] {
  const view = dataplaneViewOf(world, machine.name);
  if (view === undefined) return [];
  const { zones } = compile(view);
  const isKept = (id: string): boolean => machine.switch.listTrackedConnections(zones.get(id) ?? 0).length > 0;
  return view.services.flatMap(({ id, type, role }) => (type === 'nat' && role === 'other' && isKept(id) ? [id] : []));
}

export const removedEverywhere: Checker = {
  name: 'never: a host is removed, and the switch of a peer has something of it without a pending clean-up',
  watch: (violated, world) => ({
    onApplied: ({ truth, applied }) => {
      for (const { id, was, is } of hostChanges(applied)) {
        if (is?.state !== 'removed' || was?.state !== 'finalizing') continue;
        for (const machine of world.machines) {
          const [wanted] = tracesIn(desiredContents(world, machine.name) ?? EMPTY_COMPILE_RESULT.contents, id);
          if (machine.name !== id && wanted !== undefined) violated(`${machine.name} is shown ${wanted} of ${id}`);
          const peer = truth.get(HOST, idOf(HOST, machine.name))?.doc;
          if (machine.name === id || peer === undefined || isRemovedOrNew(peer)) continue;
          const [what] = tracesOn(machine, id);
          // Of the removed host, or whatever that host has from before its own removal: its switch was not checked since.
          const isWritten = [id, machine.name].some(
            (of) => truth.get(PENDING_CLEAN_UP, pendingId(machine.name, of)) !== undefined,
          );
          if (what === undefined || isWritten) continue;
          violated(`${machine.name} (${peer.state}, ${peer.connection.state}) has ${what} of ${id}`);
        }
      }
    },
  }),
};

/**
 * It is leaving or removed itself and will be cleared when it reports, or is registered without an agent: never here, or with a clean-up of its own as
 * soon as its agent joins.
 */
function isRemovedOrNew({ state, credential }: Host): boolean {
  const isNew = state === 'joining' && credential === undefined;
  return state === 'removed' || state === 'finalizing' || isNew;
}
