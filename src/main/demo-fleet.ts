// The simulated fleet of the demonstration: every host of the control plane gets a simulated agent in this process, also those that people
// join by hand. Agents store their state in the data folder: after a restart they keep their identity.
import { join } from 'node:path';
import {
  DEMO_TASK_DURATIONS,
  InProcessLink,
  SimulatedFleet,
  spawnFaults,
  type Disk,
  type FileName,
} from '../agent/runtime.ts';
import { FileDisk } from '../link/runtime.ts';
import { hashSecret } from '../api/runtime.ts';
import { NODE } from '../baremetal/index.ts';
import { SimulatedSwitch } from '../dataplane/runtime.ts';
import { idOf, type AppliedChange, type Change, type FleetReader } from '../fleet/index.ts';
import { HOST, type Host } from '../hosts/index.ts';
import { FLAVOR } from '../instances/index.ts';
import { accept, NotHolder, type Decision, type Journal } from '../journal/index.ts';
import { NETWORK } from '../network/index.ts';
import type { Log } from '../operations/index.ts';
import { createSite, SITE } from '../sites/index.ts';
import { realClock } from './clock.ts';
import type { ControlPlane } from './control-plane.ts';
import { demoCatalogue } from './demo-catalogue.ts';
import { demoCluster } from './demo-cluster.ts';
import { DEMO_SITE, demoHosts } from './demo-hosts.ts';
import { demoNodes } from './demo-nodes.ts';
import { realIds } from './ids.ts';
import { NODE_MODULES } from './node-modules.ts';

export interface DemoOptions {
  readonly hosts: number;
  readonly dataFolder: string;
  readonly log: Log;
}

export interface DemoFleet {
  stop(): Promise<void>;
}

const BY = 'demo';
/** A machine takes a moment to boot: long enough to see what a join waits for. */
const BOOT_MS = 3000;
/** Starts of many agents are spread, some per second. */
const SPREAD_MS_PER_HOST = 2;

export async function startDemoFleet(plane: ControlPlane, options: DemoOptions): Promise<DemoFleet> {
  const { journal } = plane;
  const { dataFolder, log, hosts } = options;
  const diskOf = (host: string): Disk => new FileDisk<FileName>(join(dataFolder, 'demo', host), 'agent');
  const fleet = new SimulatedFleet({
    journal,
    log,
    clock: realClock,
    ids: realIds(),
    hash: hashSecret,
    by: BY,
    random: Math.random,
    link: new InProcessLink((server) => (server === plane.url ? plane.gateway : undefined)),
    servers: [plane.url],
    spreadMs: hosts * SPREAD_MS_PER_HOST,
    diskOf,
    driverOptionsOf: (host) => ({
      modules: NODE_MODULES,
      switch: switchOf(host, diskOf(host)),
      durations: DEMO_TASK_DURATIONS,
      network: plane.simulatedNetwork.hostNetwork,
      faultFor: spawnFaults(plane.simulatedNetwork),
    }),
  });
  const boots = new Set<NodeJS.Timeout>();
  for (const { id, doc } of journal.fleet.all(HOST)) if (doc.state !== 'removed') fleet.agents.start(id);
  const unfollow = journal.onCommit(({ applied }) => followHosts(applied, fleet, boots));
  await joinMissing(journal, fleet, options);
  if (hosts > 0) await makeCatalogue(journal, log);
  return {
    stop: async () => {
      unfollow();
      for (const boot of boots) clearTimeout(boot);
      await fleet.agents.stopAll();
    },
  };
}

/** Its contents are in the data folder, with what runs on its host. */
function switchOf(host: string, disk: Disk): SimulatedSwitch {
  const keep = { read: () => disk.read('switch'), write: (text: string) => disk.write('switch', text) };
  return new SimulatedSwitch({ host, clock: realClock, keep });
}

function followHosts(applied: readonly AppliedChange[], fleet: SimulatedFleet, boots: Set<NodeJS.Timeout>): void {
  for (const { kind, before, after } of applied) {
    if (kind !== HOST.name) continue;
    const id = (after ?? before)?.id ?? '';
    if (!isInFleet(after)) void fleet.agents.stop(id);
    else if (!isInFleet(before)) {
      const boot = setTimeout(() => {
        boots.delete(boot);
        fleet.agents.start(id);
      }, BOOT_MS);
      boots.add(boot);
    }
  }
}

/** A removed host that is joined again is started again. */
function isInFleet(host: AppliedChange['after']): boolean {
  return host !== undefined && (host.doc as Host).state !== 'removed';
}

async function joinMissing(journal: Journal, fleet: SimulatedFleet, { hosts, log }: DemoOptions): Promise<void> {
  const missing = demoHosts(hosts).filter(({ name }) => journal.fleet.get(HOST, idOf(HOST, name)) === undefined);
  if (missing.length === 0) return;
  try {
    if (missing.some(({ site }) => site === DEMO_SITE.name)) await makeSite(journal);
    const joined = await fleet.join(missing, { why: 'the hosts of the demonstration' });
    if (typeof joined !== 'string') log.warn({ code: joined.code }, joined.message);
  } catch (error) {
    if (!(error instanceof NotHolder)) throw error;
    log.warn({}, 'another server holds the lease: no simulated hosts were added');
  }
}

/** Once, with the first hosts: what was deleted since is not created again. */
async function makeCatalogue(journal: Journal, log: Log): Promise<void> {
  const { fleet } = journal;
  if (fleet.count(FLAVOR) + fleet.count(NETWORK) === 0) {
    await make({ journal, log }, 'flavors and networks of the demonstration', demoCatalogue);
    await make({ journal, log }, 'Kubernetes cluster of the demonstration', demoCluster);
  }
  // A removed node is still known: it is not enrolled again.
  if (fleet.count(NODE) === 0) await make({ journal, log }, 'machines of the demonstration', demoNodes);
}

async function make(
  { journal, log }: { readonly journal: Journal; readonly log: Log },
  why: string,
  missing: (fleet: FleetReader, changed: { readonly changedBy: string; readonly changedAtMs: number }) => Change[],
): Promise<void> {
  const changed = { changedBy: BY, changedAtMs: realClock.nowMs() };
  try {
    await journal.submit({
      by: BY,
      why,
      decide: (fleet): Decision<unknown> => accept(missing(fleet, changed), undefined),
    });
  } catch (error) {
    if (!(error instanceof NotHolder)) throw error;
    log.warn({}, `another server holds the lease: no ${why} were added`);
  }
}

async function makeSite(journal: Journal): Promise<void> {
  const nowMs = realClock.nowMs();
  await journal.submit({
    by: BY,
    why: 'a second site for the demonstration',
    decide: (fleet): Decision<unknown> =>
      fleet.get(SITE, idOf(SITE, DEMO_SITE.name)) === undefined
        ? createSite(fleet, { ...DEMO_SITE, by: BY, nowMs })
        : accept([], undefined),
  });
}
