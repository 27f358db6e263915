// A move must have secured its target before anything leaves the source: when the source is ordered to migrate an instance, the back end has
// every port of it bound at the target. Checked in the back end itself, independently of the journal.
import { idOf, type AppliedChange, type Fleet } from '../../src/fleet/index.ts';
import { HOST } from '../../src/hosts/index.ts';
import { INSTANCE, type Instance } from '../../src/instances/index.ts';
import { capabilitiesOf, isPlugged, PORTS_BY_INSTANCE } from '../../src/network/index.ts';
import type { SimulatedNetwork } from '../../src/network/runtime.ts';
import { ITEM, OPEN_ITEMS_BY_TARGET, OPERATION, targetKey, type Item } from '../../src/operations/index.ts';
import type { Checker } from './checker.ts';

export const boundBeforeMigration: Checker = {
  name: 'never: an instance migrates to a host where its ports are not bound',
  watch: (violated, { network }) => ({
    onApplied: ({ truth, applied }) => {
      for (const change of applied) {
        const problem = unboundTarget(truth, network.backEnd, change);
        if (problem !== undefined) violated(problem);
      }
    },
  }),
};

function unboundTarget(
  truth: Fleet,
  backEnd: SimulatedNetwork,
  { kind, before, after }: AppliedChange,
): string | undefined {
  const [was, is] = [before?.doc as Item | undefined, after?.doc as Item | undefined];
  if (kind !== ITEM.name || is?.step !== 'migrate' || was?.step === 'migrate') return undefined;
  if (truth.get(OPERATION, idOf(OPERATION, is.operation))?.doc.kind !== 'instance-move') return undefined;
  const instance = truth.get(INSTANCE, idOf(INSTANCE, is.target.id))?.doc;
  const target = instance?.move?.tries.at(-1)?.host ?? '';
  // Where hosts bind by themselves, they do so when they run the instance.
  if (instance?.path.bind !== 'conductor' || truth.get(HOST, idOf(HOST, target))?.doc.bindsAt === 'driver')
    return undefined;
  const missing = [...truth.find(PORTS_BY_INSTANCE, is.target.id)].find(({ id, doc }) => {
    if (capabilitiesOf(truth, doc.network).inline) return false;
    const { binding, inactive } = backEnd.port(id) ?? {};
    return ![binding, inactive].some((one) => one?.host === target && one.type === 'simulated');
  });
  return missing && `port ${missing.id} of ${is.target.id} is not bound at ${target}`;
}

/** In these steps nothing has left the source. */
const NOTHING_LEFT_YET: readonly string[] = ['schedule', 'bind-target', 'unbind-target', 'prepare', 'migrate'];

interface Connected {
  readonly host: string;
  readonly ports: readonly string[];
}

/** For back ends that hold two bindings; with one, the target's replaces the source's. */
export const sourceStaysConnected: Checker = {
  name: 'never: an instance loses its connection at the source before it is migrated',
  watch: (violated, world) => {
    const { network } = world;
    const moving = new Map<string, Connected>();
    const look = (): void => {
      for (const [id, { host, ports }] of moving) {
        if (!isAtSource(world.truth, id, host)) moving.delete(id);
        else {
          const lost = ports.find((port) => !isConnectedAt(network.backEnd, port, host));
          if (lost !== undefined) violated(`port ${lost} of ${id} is not connected at ${host} any more`);
        }
      }
    };
    return {
      onApplied: ({ truth, applied }) => {
        look();
        for (const { kind, before, after } of applied) {
          const [was, is] = [before?.doc as Instance | undefined, after?.doc as Instance | undefined];
          if (kind !== INSTANCE.name || after === undefined || is?.state !== 'moving' || was?.state !== 'active')
            continue;
          const ports = connectedPorts(truth, network.backEnd, after.id, is.host);
          moving.set(after.id, { host: is.host ?? '', ports });
        }
      },
      onNetworkChanged: look,
    };
  },
};

/** Those without a reported failure: one that is bound again just now is in progress. */
function connectedPorts(truth: Fleet, backEnd: SimulatedNetwork, id: string, host = ''): string[] {
  const ports = [...truth.find(PORTS_BY_INSTANCE, id)].filter(({ doc }) => !capabilitiesOf(truth, doc.network).inline);
  // An instance is switched over in one way: where one of its back ends cannot hold two bindings, all are bound in place of the source.
  if (!ports.every(({ doc }) => capabilitiesOf(truth, doc.network).multipleBindings)) return [];
  return ports.filter((port) => isPlugged(truth, port) && isConnectedAt(backEnd, port.id, host)).map((port) => port.id);
}

function isConnectedAt(backEnd: SimulatedNetwork, port: string, host: string): boolean {
  const { binding } = backEnd.port(port) ?? {};
  return binding?.host === host && binding.type === 'simulated';
}

function isAtSource(truth: Fleet, id: string, host: string): boolean {
  const instance = truth.get(INSTANCE, idOf(INSTANCE, id))?.doc;
  if (instance?.state !== 'moving' || instance.host !== host) return false;
  const open = [...truth.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, id))];
  const item = open.find(({ doc }) => doc.operation === instance.move?.operation);
  return item !== undefined && NOTHING_LEFT_YET.includes(item.doc.step);
}
