// Handovers on the torture kit: every step twice, a failure and a crash at every write and at every check of hosts, a cancel at every step.
// Whatever happens, one host has the service, its epoch has grown once for each switch, and nothing is left half done.
import { idOf, runTrial, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { HOST, type Host } from '../../hosts/index.ts';
import { accept, type Decision, type Journal } from '../../journal/index.ts';
import type { OperationId } from '../../operations/index.ts';
import { torture } from '../../operations/torture.ts';
import type { TortureSubject } from '../../operations/torture-world.ts';
import { fitHost, fleetOf, LEAVING, MODELS, FakeViewsDriver, portOn, routed, service } from '../election-fixture.ts';
import { reconcileServices } from '../decide.ts';
import { handoverKind } from './operation.ts';
import { SERVICE, type Service } from '../model.ts';

const EPOCH = 7;
const IDS = ['nat:r1', 'subnet-route:s1'];
const NAMES = ['a', 'b', 'x', 'y'];

function designated(id: string): Change {
  const [type, subject] = id.split(':') as [Service['type'], string];
  const doc: Service = {
    type,
    subject,
    exclusion: 'soft',
    onControlLoss: 'move',
    epoch: EPOCH,
    designated: { host: 'a', sinceMs: 0 },
    changedBy: 'test',
    changedAtMs: 0,
  };
  return put(SERVICE, idOf(SERVICE, id), doc);
}

/** Two services at a host that is about to leave, and three candidates. */
const PREPARE = fleetOf(
  NAMES.map((name) => fitHost(name)),
  routed('r1', ['s1']),
  NAMES.map((name) => portOn(name, 's1')),
  IDS.map((id) => designated(id)),
);

interface Rack {
  readonly name: string;
  readonly world?: (journal: Journal, views: FakeViewsDriver) => Promise<void>;
  /** The hosts that may have them in the end. */
  readonly hosts: readonly string[];
}

function onRack({ name, world, hosts }: Rack): void {
  let views = new FakeViewsDriver();
  const subject: TortureSubject = {
    name,
    models: MODELS,
    kind: handoverKind,
    prepare: PREPARE,
    drivers: () => new Map([['views', (views = new FakeViewsDriver())]]),
    start: (operation, nowMs) => ({
      by: 'test',
      decide: (fleet) => leave(fleet, operation, nowMs),
    }),
    world: async (journal) => world?.(journal, views),
    wrongWhenDone: (fleet) => IDS.flatMap((id) => wrong(fleet, id, hosts)),
    wrongWhenCancelled: (fleet) => IDS.flatMap((id) => wrong(fleet, id, [...hosts, 'a'])),
  };
  torture(subject);
}

/** One commit tombstones the host and begins the handovers. */
function leave(fleet: FleetReader, operation: OperationId, nowMs: number): Decision<unknown> {
  return runTrial(fleet, (trial) => {
    const tombstone = fitHost('a', LEAVING);
    trial.add([tombstone]);
    const services = IDS.map((id) => idOf(SERVICE, id));
    const command = {
      services,
      hasBfdUp: () => false,
      isBfdDownByMajority: () => false,
      maybePartitioned: () => false,
      operation,
      by: 'test',
      nowMs,
      deadlineMs: 36_000_000,
    };
    const decision = reconcileServices(trial, command);
    if (decision.kind === 'refuse') return decision;
    return accept([tombstone, ...decision.changes], decision.answer);
  });
}

function wrong(fleet: FleetReader, id: string, hosts: readonly string[]): string[] {
  const doc = service(fleet, id);
  const host = doc?.designated?.host ?? '';
  const grown = host === 'a' ? doc?.epoch === EPOCH : (doc?.epoch ?? 0) > EPOCH;
  return [
    ...(hosts.includes(host) ? [] : [`${id} is at ${host}`]),
    ...(doc?.handover === undefined ? [] : [`${id} is ${doc.handover.phase}`]),
    ...(grown ? [] : [`${id} has epoch ${doc?.epoch} at ${host}`]),
  ];
}

onRack({ name: 'handover', hosts: ['b', 'x', 'y'] });

onRack({
  name: 'handover, with hosts that are late and a target that is lost',
  hosts: ['x', 'y'],
  world: async (journal, views) => {
    const isStarted = service(journal.fleet, 'nat:r1')?.handover !== undefined;
    const b = journal.fleet.get(HOST, idOf(HOST, 'b'));
    if (isStarted && b?.doc.connection.state === 'up') {
      views.behind.add('x');
      await journal.submit({ by: 'test', decide: () => ({ kind: 'accept', changes: [silent(b.doc)], answer: null }) });
    } else views.behind.clear();
  },
});

function silent(doc: Host): Change {
  return put(HOST, idOf(HOST, doc.name), { ...doc, connection: { state: 'suspect', sinceMs: 0 } });
}
