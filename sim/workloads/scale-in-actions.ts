// Operators' commands for hosts that leave and join, one at a time, on whatever exists at the moment: in any order, and with names in any
// form. Some of it makes no sense, and is refused.
import { editHost } from '../../src/hosts/decide.ts';
import {
  evacuatorsOf,
  clearForceDown,
  endScaleIn,
  forceDownHost,
  HOST,
  identityForms,
  recoverHosts,
  SCALE_IN,
  startScaleIn,
  type Host,
} from '../../src/hosts/index.ts';
import { previewScaleIn } from '../../src/hosts/preview/preview.ts';
import { reAdmitHost } from '../../src/hosts/join/re-admit.ts';
import { idOf, valueOf } from '../../src/fleet/index.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import { cancelOperation, OPERATION, retryOperation, type OperationKind } from '../../src/operations/index.ts';
import type { Rng } from '../kernel/rng.ts';
import type { OperatorCommand } from '../world/operator.ts';
import { sha256 } from '../world/parts.ts';
import type { World } from '../world/world.ts';
import { plain } from './commands.ts';
import { changeSettingTo, ZONES, type ScaleInSetup } from './scale-in-setup.ts';

const EVACUATORS = evacuatorsOf(PROGRAM);

type MaybeCommand = OperatorCommand<unknown> | undefined;

/** Some are short, so that deadlines pass while hosts are being drained. */
const DEADLINES_MS = [5000, 30_000, 4 * 3600_000, 4 * 3600_000];
const BATCH_MAX = 3;

export class ScaleInActions {
  readonly #world: World;
  readonly #setup: ScaleInSetup;
  readonly #rng: Rng;
  readonly #kinds: ReadonlyMap<string, OperationKind>;

  constructor(world: World, ground: ScaleInSetup) {
    this.#world = world;
    this.#setup = ground;
    this.#rng = world.rng.fork();
    this.#kinds = world.composition.operationKinds;
  }

  /** The next request; undefined when there is nothing to apply it to. */
  next(tag: string): MaybeCommand {
    const { act } = this.#rng.pickWeighted<{ readonly weight: number; readonly act: (by: string) => MaybeCommand }>([
      { weight: 16, act: (by) => this.#start(by) },
      { weight: 18, act: (by) => this.#end(by) },
      { weight: 11, act: (by) => this.#recover(by) },
      { weight: 8, act: (by) => this.#forceDown(by) },
      { weight: 3, act: (by) => this.#clearForceDown(by) },
      { weight: 8, act: (by) => this.#reAdmit(by) },
      { weight: 4, act: (by) => this.#budgets(by) },
      { weight: 4, act: (by) => this.#edit(by) },
      { weight: 5, act: (by) => this.#rewire(by) },
      { weight: 2, act: (by) => this.#cancel(by) },
      { weight: 3, act: (by) => this.#retry(by) },
    ]);
    return act(tag);
  }

  #hosts(fits: (doc: Host) => boolean = () => true): Host[] {
    return [...this.#world.truth.all(HOST)].flatMap(({ doc }) => (fits(doc) ? [doc] : []));
  }

  /** A few that fit, now and then one that does not, each in a form of its own. */
  #batch(fits: (doc: Host) => boolean): string[] {
    const rng = this.#rng;
    const fitting = this.#hosts(fits);
    const from = fitting.length === 0 || rng.chance(0.05) ? this.#hosts() : fitting;
    if (from.length === 0) return [];
    const picked = Array.from({ length: rng.between(1, BATCH_MAX) }, () => rng.pick(from));
    const names = picked.map((host) => rng.pick([host.name, host.name, ...identityForms(host.switch)]));
    return rng.chance(0.02) ? [...names, 'nobody'] : names;
  }

  #begin(by: string) {
    return { operation: idOf(OPERATION, `op-${by}`), by };
  }

  #start(by: string): MaybeCommand {
    const rng = this.#rng;
    // Not all of them at once: some targets must be left.
    const staying = this.#hosts(({ state }) => state === 'active').length;
    if (staying <= this.#setup.hosts.length / 3 && rng.chance(0.9)) return undefined;
    const hosts = this.#batch(({ state }) => state === 'active' || state === 'recovering');
    if (hosts.length === 0) return undefined;
    const { truth } = this.#world;
    const deadlineMs = rng.pick(DEADLINES_MS);
    const shown = rng.chance(0.3)
      ? previewScaleIn(truth, EVACUATORS, { hosts, nowMs: 0, hash: sha256, budgets: valueOf(truth, SCALE_IN) })
      : undefined;
    const plan = shown !== undefined && 'planHash' in shown ? { plan: { plan: shown.planHash, hash: sha256 } } : {};
    const how = { hosts, drain: rng.chance(0.8), ...plan, ...this.#begin(by), deadlineMs };
    return plain(by, (fleet, nowMs) => startScaleIn(fleet, EVACUATORS, { ...how, nowMs }));
  }

  #end(by: string): MaybeCommand {
    const rng = this.#rng;
    const drained = rng.chance(0.7);
    const hosts = this.#batch(({ state }) => state === 'drained' || (!drained && state === 'draining'));
    if (hosts.length === 0) return undefined;
    const force = rng.chance(0.12) ? { force: { reason: by } } : {};
    const how = { hosts, disconnect: rng.chance(0.7), ...force, ...this.#begin(by) };
    return plain(by, (fleet, nowMs) => endScaleIn(fleet, EVACUATORS, { ...how, nowMs }));
  }

  #recover(by: string): MaybeCommand {
    const hosts = this.#batch(({ leaving }) => leaving !== undefined);
    if (hosts.length === 0) return undefined;
    const how = { hosts, failBack: this.#rng.chance(0.4), ...this.#begin(by) };
    return plain(by, (fleet, nowMs) => recoverHosts(fleet, { ...how, nowMs }));
  }

  /** Mostly for a leaving host that seems dead; the operator who fences it may be wrong. */
  #forceDown(by: string): MaybeCommand {
    const dead = this.#hosts(({ connection, state }) => connection.state !== 'up' && state !== 'removed');
    const leaving = dead.filter((host) => host.leaving !== undefined);
    const from = [leaving, dead, this.#hosts(({ state }) => state === 'draining')].find((some) => some.length > 0);
    if (from === undefined) return undefined;
    const { name: id } = this.#rng.pick(from);
    return plain(by, (fleet, nowMs) => forceDownHost(fleet, { id, reason: by, by, nowMs }));
  }

  #clearForceDown(by: string): MaybeCommand {
    const hosts = this.#hosts(({ forcedDown }) => forcedDown !== undefined);
    if (hosts.length === 0) return undefined;
    const { name: id } = this.#rng.pick(hosts);
    return plain(by, (fleet, nowMs) => clearForceDown(fleet, { id, by, nowMs }));
  }

  #reAdmit(by: string): MaybeCommand {
    const hosts = this.#hosts(({ quarantined }) => quarantined !== undefined);
    if (hosts.length === 0) return undefined;
    const { name: id } = this.#rng.pick(hosts);
    return plain(by, (fleet, nowMs) => reAdmitHost(fleet, { id, reason: by, by, nowMs }));
  }

  #budgets(by: string): MaybeCommand {
    const rng = this.#rng;
    const value = { ...SCALE_IN.defaultValue, movesAtOnce: rng.between(1, 4), movesPerHostAtOnce: rng.between(1, 3) };
    return plain(by, changeSettingTo(SCALE_IN, value, by));
  }

  /** A host gains or loses a prerequisite of services. */
  #edit(by: string): MaybeCommand {
    const rng = this.#rng;
    const { name: id } = rng.pick(this.#setup.hosts);
    const edit = rng.pick([
      { tunnelAddress: null },
      { tunnelAddress: `192.0.2.${id.slice(1)}` },
      { tunnelAddress: `192.0.2.${id.slice(1)}` },
      { tunnelAddress: `198.51.100.${id.slice(1)}` },
      { physicalNetworks: rng.chance(0.7) ? ['p1'] : [] },
      { baseWeight: rng.between(-1, 2) },
    ]);
    return plain(by, (fleet, nowMs) => editHost(fleet, { id, edit, by, nowMs }));
  }

  /** A host moves to another zone: mostly one that is unreachable, or leaving. */
  #rewire(by: string): MaybeCommand {
    const rng = this.#rng;
    const hosts = this.#hosts(({ state }) => state !== 'removed');
    const unreachable = hosts.filter(({ connection, leaving }) => connection.state !== 'up' || leaving !== undefined);
    const from = unreachable.length > 0 && rng.chance(0.7) ? unreachable : hosts;
    if (from.length === 0) return undefined;
    const { name: id } = rng.pick(from);
    const edit = { transportZone: rng.pick([null, ...ZONES]) };
    return plain(by, (fleet, nowMs) => editHost(fleet, { id, edit, by, nowMs }));
  }

  #cancel(by: string): MaybeCommand {
    const id = this.#operation('running');
    if (id === undefined) return undefined;
    return plain(by, (fleet, nowMs) => cancelOperation(fleet, { id, kinds: this.#kinds, nowMs }));
  }

  #retry(by: string): MaybeCommand {
    const id = this.#operation('failed');
    if (id === undefined) return undefined;
    return plain(by, (fleet, nowMs) => retryOperation(fleet, { id, kinds: this.#kinds, nowMs }));
  }

  #operation(state: string): string | undefined {
    const all = [...this.#world.truth.all(OPERATION)].filter(
      ({ doc }) => doc.state === state && doc.kind !== 'host-join' && !doc.kind.startsWith('instance'),
    );
    return all.length === 0 ? undefined : this.#rng.pick(all).id;
  }
}
