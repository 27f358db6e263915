// A small control plane for tests of scale-in, with tenants of two kinds and hosts that converge on their views or not.
import { createHash } from 'node:crypto';
import { accessModel } from '../../access/index.ts';
import { alarmsModel } from '../../alarms/index.ts';
import { idOf, put, SETTING, type Change, type FleetReader } from '../../fleet/index.ts';
import { accept, type Decision } from '../../journal/index.ts';
import {
  isOpen,
  ITEM,
  recordStep,
  taskId,
  type Driver,
  type OperationId,
  type OperationKind,
} from '../../operations/index.ts';
import { OperationsController } from '../../operations/runtime.ts';
import { SITE, sitesModel } from '../../sites/index.ts';
import { hostJoin } from '../join/join.ts';
import { hostsModel } from '../fleet-model.ts';
import { HOST, type Host, type HostState } from '../model.ts';
import { PENDING_CLEAN_UP, peerCleanUpKind } from './pending-clean-up.ts';
import { hostChange } from '../preview/preview-fixture.ts';
import type { ScaleInAnswer } from './answer.ts';
import { ScaleInController } from './controller.ts';
import { scaleInEndKind } from './end.ts';
import { scaleInModel } from './invariants.ts';
import { scaleInKind } from './operation.ts';
import { scaleInRecoverKind } from './recover.ts';
import {
  endScaleIn,
  recoverHosts,
  startScaleIn,
  type EndScaleIn,
  type RecoverHosts,
  type StartScaleIn,
} from './decide.ts';
import { SCALE_IN } from './settings.ts';
import { TenantDriver, tenantsOf, type Holding } from './tenants-fixture.ts';
import { TestWorld, type StartedServer } from '../world-fixture.ts';

export const holding: Holding = {};
export const guests = tenantsOf('guest');
export const posts = tenantsOf('post', holding);
export const EVACUATORS = [posts.evacuator, guests.evacuator];
export const MODELS = [
  { kinds: [SETTING] },
  accessModel,
  sitesModel,
  alarmsModel,
  hostsModel,
  scaleInModel(EVACUATORS),
  guests.model,
  posts.model,
];

export const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Every host is a peer of every other. */
const peersOf = (fleet: FleetReader, host: string): string[] =>
  [...fleet.all(HOST)].map(({ id }): string => id).filter((id) => id !== host);

export const KINDS: ReadonlyMap<string, OperationKind> = new Map(
  [
    scaleInKind(EVACUATORS),
    scaleInEndKind({ evacuators: EVACUATORS, peersOf }),
    scaleInRecoverKind(EVACUATORS),
    peerCleanUpKind,
    hostJoin,
    guests.operation,
    posts.operation,
  ].map((kind) => [kind.name, kind]),
);

/** Hosts that have not applied their view; the others have. */
class BehindViewsDriver implements Driver {
  readonly behind = new Set<string>();
  readonly requests: string[][] = [];

  async carryOut({ args }: Parameters<Driver['carryOut']>[0]): ReturnType<Driver['carryOut']> {
    const hosts = args['hosts'] as string[];
    this.requests.push(hosts);
    const behind = hosts.filter((host) => this.behind.has(host));
    if (behind.length === 0) return { kind: 'applied' };
    return { kind: 'failed', reason: { code: 'hosts-behind', hosts: behind } };
  }
}

const SITE_DOC = put(SITE, idOf(SITE, 'central'), { name: 'central', changedBy: 'test', changedAtMs: 0 });

export function activeHosts(...names: readonly string[]): Change[] {
  return [SITE_DOC, ...names.map((name) => hostChange({ name, credential: `t-${name}` }))];
}

/** Documents of hosts that reached a state as real ones would. */
export function hostIn(name: string, state: HostState, facts: Partial<Host> = {}): Change {
  const isLeaving = state !== 'active' && state !== 'joining' && state !== 'removed';
  const leaving = { operation: 'op-before', drain: true, by: 'ann', atMs: 0 };
  return hostChange({ name, state, credential: `t-${name}`, ...(isLeaving && { leaving }), ...facts });
}

const HOUR_MS = 3_600_000;

type ScaleInDecision = (fleet: FleetReader) => Decision<ScaleInAnswer>;

export class ScaleInWorld extends TestWorld {
  readonly driver = new TenantDriver();
  readonly views = new BehindViewsDriver();
  /** What hosts' agents answered to a task `leave`. */
  readonly left: string[] = [];
  /** Hosts whose agents fail at every task. */
  readonly unable = new Set<string>();
  /** Strays that hosts find when they are ordered to leave. */
  readonly strays = new Map<string, readonly string[]>();
  /** Hosts whose agents send heartbeats and answer no task. */
  readonly mute = new Set<string>();
  #keeper: ScaleInController | undefined;

  static async of(...changes: readonly Change[]): Promise<ScaleInWorld> {
    const world = new ScaleInWorld(MODELS);
    delete holding.reason;
    await world.restart();
    await world.put(...changes);
    return world;
  }

  protected override begin({ journal, clock, ids, log }: StartedServer): OperationsController {
    const drivers = new Map<string, Driver>([
      ['tenants', this.driver],
      ['views', this.views],
    ]);
    this.#keeper = new ScaleInController({ journal, clock, log, evacuators: EVACUATORS, ids });
    return new OperationsController({ journal, clock, kinds: KINDS, drivers, log });
  }

  authorship(): { operation: OperationId; by: string; nowMs: number } {
    return { operation: this.operation(), by: 'ann', nowMs: this.nowMs };
  }

  starting(hosts: readonly string[], facts: Partial<StartScaleIn> = {}): ScaleInDecision {
    const command = { hosts, drain: true, deadlineMs: 4 * HOUR_MS, ...this.authorship(), ...facts };
    return (fleet: FleetReader) => startScaleIn(fleet, EVACUATORS, command);
  }

  ending(hosts: readonly string[], facts: Partial<EndScaleIn> = {}): ScaleInDecision {
    const command = { hosts, disconnect: false, ...this.authorship(), ...facts };
    return (fleet: FleetReader) => endScaleIn(fleet, EVACUATORS, command);
  }

  recovering(hosts: readonly string[], facts: Partial<RecoverHosts> = {}): ScaleInDecision {
    const command = { hosts, failBack: false, ...this.authorship(), ...facts };
    return (fleet: FleetReader) => recoverHosts(fleet, command);
  }

  async budget(facts: Partial<(typeof SCALE_IN)['defaultValue']>): Promise<void> {
    const value = { ...SCALE_IN.defaultValue, ...facts };
    const doc = { value, changedBy: 'test', changedAtMs: 0 };
    await this.put(put(SETTING, idOf(SETTING, SCALE_IN.name), doc));
  }

  /** A pass of the engine, then the agents, then the scale-in controller. */
  override async tick(): Promise<void> {
    await this.pass();
    await this.#agents();
    await this.#keeper?.reconcile();
  }

  /** Connected hosts answer their tasks. */
  async #agents(): Promise<void> {
    for (const { id, doc } of [...this.fleet.all(ITEM)]) {
      const kind = KINDS.get(this.operationDoc(doc.operation)?.kind ?? '');
      const item = this.fleet.get(ITEM, id);
      if (item === undefined || !isOpen(item.doc) || doc.host === undefined) continue;
      if (this.host(doc.host)?.connection.state !== 'up') continue;
      const task = kind?.task?.(item, { fleet: this.fleet });
      if (task === undefined) continue;
      if (this.mute.has(doc.host)) continue;
      this.left.push(`${task.kind} ${doc.host}`);
      const strays = task.args['force'] === true ? undefined : this.strays.get(doc.host);
      const outcome = this.unable.has(doc.host) || strays !== undefined ? 'failed' : 'done';
      const facts = strays === undefined ? {} : { facts: { strays, straysInAll: strays.length } };
      await this.commit((fleet) => {
        const step = kind?.handleTaskAnswer?.(
          item,
          { task: taskId(item), outcome, ...facts },
          { fleet, nowMs: this.nowMs },
        );
        return step === undefined ? accept([], 'stale') : recordStep(fleet, step, this.nowMs);
      });
    }
  }

  operationState(id: string | undefined): string | undefined {
    return this.operationDoc(id ?? '')?.state;
  }

  states(...names: readonly string[]): string {
    return names.map((name) => `${name} ${this.host(name)?.state ?? 'gone'}`).join(', ');
  }

  /** Pending clean-ups by id. */
  pending(): string[] {
    return [...this.fleet.all(PENDING_CLEAN_UP)].map(({ id }): string => id);
  }
}
