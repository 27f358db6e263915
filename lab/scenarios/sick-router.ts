// A host leaves with three healthy routers and one whose next hop outside does not answer, so that no other host can prepare it. The
// healthy ones and all instances leave as they do without it; every answer says why it does not; and the host comes back at once.
import { setTimeout } from 'node:timers/promises';
import { mayBeHeldUp } from '../oracle.ts';
import { runTrial, type TrialOutcome } from '../trial.ts';
import { LabFleet, USUAL } from './fleet.ts';
import type { LabScenario } from './scenario.ts';
import {
  figuresOf,
  assessSickRun,
  assessSickTimes,
  type RouterDeparture,
  type Recovery,
  type SickRun,
  type ReportedReasons,
} from './sick-router-assessment.ts';

const HOSTS = 3;
const LEAVING = 'h1';
const LEAVING_NUMBER = 1;
/** No machine in the external network has it. */
const SILENT_GATEWAY = '203.0.113.1';
const SICK = 'nat:sick';
const REASON = `next hop ${SILENT_GATEWAY} does not answer`;
/** Beside `edge`, which every fleet has. */
const ROUTERS = ['r2', 'r3', 'sick'] as const;
const LOOK_MS = 20;
/** Everything leaves within a few seconds. What still waits after this waits for something else. */
const PATIENCE_MS = 60_000;
/** Meanwhile a port that a flow has done with is given to another one. */
const LOAD = { ...USUAL, beginning: false };

interface ListedService {
  readonly id: string;
  readonly designated?: { readonly host: string; readonly sinceMs: number };
  readonly handover?: { readonly operation: string; readonly to: string };
}

interface Listed<T> {
  readonly items: readonly T[];
}

/** The sick service is no part of what has to leave. */
const isHealthy = ({ id }: { readonly id: string }): boolean => id !== SICK;

class SickFleet {
  readonly fleet: LabFleet;
  readonly #instances: string[] = [];

  constructor(fleet: LabFleet) {
    this.fleet = fleet;
  }

  get #client(): LabFleet['muster']['client'] {
    return this.fleet.muster.client;
  }

  /** Every router has a network of its own, with an instance on the host that leaves and one on another. */
  async build(): Promise<void> {
    // Whatever is elected from now on is elected here.
    await this.#client.patch(`/hosts/${LEAVING}`, { baseWeight: 100 });
    await this.#client.post('/networks', { name: 'dark', external: true, shared: true });
    const dark = { name: 'dark-v4', network: 'dark', cidr: '203.0.113.0/24', gateway: SILENT_GATEWAY };
    await this.#client.post('/subnets', dark);
    this.#instances.push(`vm${LEAVING_NUMBER}`);
    for (const [nth, router] of ROUTERS.entries()) {
      await this.#client.post('/networks', { name: router });
      const subnet = { name: `${router}-v4`, network: router, cidr: `10.${nth + 1}.0.0/24` };
      await this.#client.post('/subnets', subnet);
      // The sick one leads nowhere at first: it does not count in what is measured without it.
      const way = router === 'sick' ? {} : { externalNetwork: 'ext' };
      await this.#client.post('/routers', { name: router, subnets: [`${router}-v4`], ...way });
      await this.fleet.build(`${router}-1`, LEAVING_NUMBER, router);
      await this.fleet.build(`${router}-2`, 2, router);
      this.#instances.push(`${router}-1`);
    }
    await this.#bringBack(['nat:edge', 'nat:r2', 'nat:r3']);
  }

  async makeSick(): Promise<void> {
    await this.#client.patch('/routers/sick', { externalNetwork: 'dark' });
    await this.fleet.until(`${SICK} is not at ${LEAVING}`, async () =>
      (await this.#services()).some((one) => one.id === SICK && one.designated?.host === LEAVING) ? true : undefined,
    );
  }

  async depart(): Promise<RouterDeparture> {
    const services = (await this.#services()).filter((one) => isHealthy(one) && one.designated?.host === LEAVING);
    const ids = services.map(({ id }) => id);
    const startedMs = performance.now();
    const { operation } = (await this.#client.post('/scale-in/start', { hosts: [LEAVING] })) as { operation: string };
    let [handoverMs, emptiedMs] = [NaN, NaN];
    let left: { readonly services: readonly string[]; readonly instances: readonly string[] };
    for (;;) {
      left = { services: await this.#servicesLeft(ids), instances: await this.#instancesLeft() };
      const atMs = performance.now() - startedMs;
      if (left.services.length === 0 && Number.isNaN(handoverMs)) handoverMs = atMs;
      if (left.instances.length === 0 && Number.isNaN(emptiedMs)) emptiedMs = atMs;
      if (left.services.length + left.instances.length === 0 || atMs > PATIENCE_MS) break;
      await setTimeout(LOOK_MS);
    }
    const { createdAtMs } = (await this.#client.get(`/operations/${operation}`)) as { readonly createdAtMs: number };
    const since = (await this.#services()).filter(({ id }) => ids.includes(id)).map((one) => one.designated?.sinceMs);
    const switchedMs = Math.max(...since.map((atMs) => (atMs ?? NaN) - createdAtMs));
    const stayed = [...left.services, ...left.instances];
    return { services: ids, instances: this.#instances, stayed, switchedMs, handoverMs, emptiedMs };
  }

  async recover(): Promise<Recovery> {
    const before = await this.#sick();
    const startedMs = performance.now();
    await this.#client.post('/scale-in/recover', { hosts: [LEAVING] });
    let state = '';
    for (;;) {
      ({ state } = (await this.#client.get(`/hosts/${LEAVING}`)) as { readonly state: string });
      if (state === 'active' || performance.now() - startedMs > PATIENCE_MS) break;
      await setTimeout(LOOK_MS);
    }
    const durationMs = performance.now() - startedMs;
    const after = await this.#sick();
    // Its instances are elsewhere by now. That it goes where they are is another handover, of a host that does not leave.
    const hasEnded = before?.handover === undefined || after?.handover?.operation !== before.handover.operation;
    return { stateAfter: state, durationMs, sickAt: after?.designated?.host, hasEnded };
  }

  /** Everything that left is there again. */
  async comeBack(services: readonly string[]): Promise<void> {
    await this.recover();
    for (const name of this.#instances) {
      // It has left, and may not be there yet where it goes.
      await this.fleet.until(`${name} is not active`, async () => {
        const { state } = (await this.#client.get(`/instances/${name}`)) as { readonly state: string };
        return state === 'active' ? true : undefined;
      });
      await this.fleet.muster.muster('instances', 'move', name, '--host', LEAVING, '--wait', '--timeout', '60s');
    }
    await this.#bringBack(services);
    const ready = await this.fleet.waitForConvergence();
    if (ready.length > 0) throw new Error(ready.join('; '));
  }

  /** What is written where an operator looks, once the alarm stands: it waits a while before it does. */
  async readReportedReasons(): Promise<ReportedReasons> {
    const alarm = await this.fleet.until('no alarm is raised', async () => {
      const { items } = (await this.#client.get('/alarms')) as Listed<{
        readonly id: string;
        readonly sentence: string;
      }>;
      return items.find(({ id }) => id.includes(SICK))?.sentence;
    });
    const items = (await this.#client.get(
      `/operation-items?target=${encodeURIComponent(`service/${SICK}`)}&limit=100`,
    )) as Listed<{
      readonly state: string;
      readonly sentence?: string;
    }>;
    const { muster } = this.fleet;
    const to = (await this.#sick())?.handover?.to ?? 'nobody';
    return {
      'the alarm': alarm,
      'the operation': items.items.find(({ state }) => state === 'waiting')?.sentence ?? 'no operation waits',
      'services why': await muster.muster('services', 'why', SICK),
      'scale-in status': await muster.muster('scale-in', 'status', LEAVING),
      [`hosts show ${to}`]: await muster.muster('hosts', 'show', to),
      [`hosts show ${LEAVING}`]: await muster.muster('hosts', 'show', LEAVING),
    };
  }

  async #bringBack(services: readonly string[]): Promise<void> {
    for (const id of services) {
      const { designated } = await this.fleet.service(id);
      if (designated?.host !== LEAVING) await this.fleet.move(id, LEAVING_NUMBER);
    }
  }

  async #sick(): Promise<ListedService | undefined> {
    return (await this.#services()).find((one) => !isHealthy(one));
  }

  async #services(): Promise<readonly ListedService[]> {
    return ((await this.#client.get('/services?limit=200')) as Listed<ListedService>).items;
  }

  /** Those of them that are still at the host, or on their way. */
  async #servicesLeft(ids: readonly string[]): Promise<string[]> {
    const left = (await this.#services()).filter(
      ({ id, designated, handover }) => ids.includes(id) && (designated?.host === LEAVING || handover !== undefined),
    );
    return left.map(({ id }) => id);
  }

  async #instancesLeft(): Promise<string[]> {
    const { items } = (await this.#client.get(`/instances?host=${LEAVING}&limit=200`)) as Listed<{
      readonly name: string;
    }>;
    return items.map(({ name }) => name);
  }
}

/** Two scale-ins of one host, the second with the sick router. */
async function leaveTwice(sick: SickFleet): Promise<SickRun> {
  const without = await sick.depart();
  await sick.comeBack(without.services);
  await sick.makeSick();
  const beside = await sick.depart();
  const reportedReasons = await sick.readReportedReasons();
  const recovery = await sick.recover();
  return { leaving: LEAVING, reason: REASON, without, beside, reportedReasons, recovery };
}

/** In a fleet that is new, under load from the instances that stay. */
export async function leaveBesideSickRouter(fleet: LabFleet): Promise<TrialOutcome> {
  const sick = new SickFleet(fleet);
  await sick.build();
  let ran: SickRun | undefined;
  const staying = fleet.instances.filter(({ host }) => host !== LEAVING_NUMBER);
  const outcome = await runTrial({
    load: await fleet.load(LOAD, staying),
    event: async () => void (ran = await leaveTwice(sick)),
  });
  return ran === undefined ? outcome : toOutcome(fleet, outcome, ran);
}

/** What is neither about packets nor about time holds on a busy machine as well. */
async function toOutcome(fleet: LabFleet, outcome: TrialOutcome, ran: SickRun): Promise<TrialOutcome> {
  const figures = figuresOf(ran);
  const times = outcome.kind === 'machine-too-busy' ? [] : assessSickTimes(ran);
  const found = [...assessSickRun(ran), ...times, ...(await fleet.waitForConvergence())];
  const lost = outcome.kind === 'failed' ? outcome.problems : [];
  const problems = [...lost, ...found];
  const verdict = outcome.kind === 'machine-too-busy' ? outcome.tries.at(-1) : outcome.verdict;
  // No host is lost here. A host that was taken for lost loses its services, and then none of this can be compared.
  if (problems.length > 0 && verdict !== undefined && mayBeHeldUp(verdict) && (await fleet.countFailovers()) > 0)
    return { kind: 'machine-too-busy', tries: [verdict], figures };
  if (problems.length === 0 || verdict === undefined) return { ...outcome, figures };
  return { kind: 'failed', verdict, figures, problems };
}

export const sickRouter: LabScenario = {
  name: 'a-sick-router-beside-healthy-ones',
  about:
    'a host leaves with three routers, and with one more whose next hop outside does not answer; then it is recovered',
  async run({ say, signal }) {
    const fleet = await LabFleet.start(HOSTS, say, signal);
    try {
      return await leaveBesideSickRouter(fleet);
    } finally {
      await fleet.close();
    }
  },
};
