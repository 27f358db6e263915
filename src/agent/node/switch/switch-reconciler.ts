// Reconciles a switch with what was compiled for it: read, change what differs, read back. One at a time, and nothing that
// was begun before the switch was wiped is finished after it.
import {
  compile,
  readDataplaneView,
  diff,
  STATIC_ENVIRONMENT,
  SwitchDown,
  SwitchRefused,
  EMPTY_COMPILE_RESULT,
  type DataplaneView,
  type ConntrackImport,
  type LocalEnvironment,
  type Switch,
  type SwitchContents,
  type TrackedConnection,
} from '../../../dataplane/index.ts';
import type { UnreadyService, View } from '../../protocol/messages.ts';

type DesiredSwitch = ReturnType<typeof compile>;

export type ReconcileResult =
  /** With the services of the view that cannot be provided here yet. */
  | { readonly kind: 'applied' | 'already'; readonly unready?: readonly UnreadyService[] }
  | { readonly kind: 'failed'; readonly problems: readonly string[] };

/** Of a gap or a flow in the way, a few examples are enough. */
const NAMED_MAX = 5;

/** What was last found on the switch as it should be, and for which view. */
interface VerifiedContents {
  readonly digest: string;
  readonly wanted: SwitchContents;
  readonly contents: SwitchContents;
}

export class SwitchReconciler {
  readonly #switch: Switch;
  readonly #environment: LocalEnvironment;
  #wipeCount = 0;
  #queue: Promise<unknown> = Promise.resolve();
  #gaps: readonly string[] = [];
  #verified: VerifiedContents | undefined;
  /** Of the last view. */
  #zones: ReadonlyMap<string, number> = new Map();
  /** Of services that were in a view since connections were last forgotten there. */
  readonly #tracked = new Map<string, number>();

  constructor(of: Switch, around: LocalEnvironment = STATIC_ENVIRONMENT) {
    this.#switch = of;
    // One that does not listen changes nothing of what is around it.
    this.#environment =
      of.hasBfdBeenUp === undefined ? around : { ...around, hasBfdBeenUp: (peer) => of.hasBfdBeenUp?.(peer) ?? true };
  }

  /** What the last view requires of the switch and cannot be had, in sentences. */
  get gaps(): readonly string[] {
    return this.#gaps;
  }

  /** How often it was wiped: what is meant to follow a view, and was begun before the last time, comes too late. */
  get wipeCount(): number {
    return this.#wipeCount;
  }

  /** A view that says nothing of the data plane leaves the switch as it is. */
  async reconcile({ host, parts, digest }: View, wipes = this.#wipeCount): Promise<ReconcileResult> {
    const view = readDataplaneView(host, parts);
    if (view === undefined) return { kind: 'already' };
    const wanted = compile(view, this.#environment);
    const { gaps, zones } = wanted;
    this.#zones = zones;
    for (const [service, zone] of zones) this.#tracked.set(service, zone);
    this.#gaps = gaps
      .slice(0, NAMED_MAX)
      .map(({ owner, reason, what }) => `${owner.kind} ${owner.id}: ${reason} ${what}`);
    const result = await this.#serialize(async () => {
      await this.#switch.setUp();
      return this.#converge(wanted, digest);
    }, wipes);
    const unready = unreadyServices(view, gaps);
    return unready.length === 0 || result.kind === 'failed' ? result : { ...result, unready };
  }

  /** Whether the switch holds what this view requires, without changing anything. Cheap for one that shows that it did not change. */
  async hasConverged({ host, parts, digest }: View): Promise<boolean> {
    const view = readDataplaneView(host, parts);
    if (view === undefined) return true;
    const wanted = this.#cachedDesired(digest) ?? compile(view, this.#environment).contents;
    const result = await this.#serialize(() => this.#compare(wanted, digest));
    return result.kind === 'already';
  }

  /** What is around a switch changes while the view is the same: then it is compiled anew. */
  #cachedDesired(digest: string): SwitchContents | undefined {
    return this.#environment === STATIC_ENVIRONMENT && this.#verified?.digest === digest
      ? this.#verified.wanted
      : undefined;
  }

  /** Takes everything of ours away. What was waiting to be put there is not put there any more. */
  async wipe(): Promise<ReconcileResult> {
    this.#wipeCount += 1;
    this.#gaps = [];
    return this.#serialize(async () => {
      const result = await this.#converge(EMPTY_COMPILE_RESULT);
      if (result.kind === 'failed') return result;
      await this.#flushTracked();
      await this.#switch.tearDown();
      this.#verified = undefined;
      return result;
    });
  }

  /** A host that joins again does not know what it translated before: it would translate by connections that are long over. */
  async #flushTracked(): Promise<void> {
    for (const zone of new Set(this.#tracked.values())) await this.#switch.flushConnections?.(zone);
    this.#tracked.clear();
  }

  async listConnections(service: string): Promise<readonly TrackedConnection[]> {
    const zone = this.#zones.get(service);
    return (zone === undefined ? undefined : await this.#switch.listConnections?.(zone)) ?? [];
  }

  async importConnections(service: string, connections: readonly TrackedConnection[]): Promise<ConntrackImport> {
    const zone = this.#zones.get(service);
    const seeded = zone === undefined ? undefined : await this.#switch.importConnections?.(zone, connections);
    return seeded ?? { imported: 0, present: 0, failed: connections.length };
  }

  /** A zone that another service has by now is left alone. */
  async forgetConnections(service: string): Promise<void> {
    const zone = this.#tracked.get(service);
    if (zone === undefined) return;
    const isTaken = [...this.#zones].some(([other, its]) => other !== service && its === zone);
    if (!isTaken) await this.#switch.flushConnections?.(zone);
    this.#tracked.delete(service);
  }

  async #compare(wanted: SwitchContents, digest: string): Promise<ReconcileResult> {
    const contents = await this.#switch.read();
    if (this.#verified?.contents === contents && this.#verified.wanted === wanted) return { kind: 'already' };
    const { changes, conflicts } = diff(wanted, contents);
    if (changes.length + conflicts.length > 0) return fail('the switch holds something else');
    this.#verified = { digest, wanted, contents };
    return { kind: 'already' };
  }

  async #converge({ contents: wanted }: DesiredSwitch, digest = ''): Promise<ReconcileResult> {
    const hasRemoved = await this.#removeStale(wanted);
    let contents = await this.#switch.read();
    const { changes, conflicts } = diff(wanted, contents);
    if (changes.length > 0) {
      await this.#switch.apply(changes, contents);
      contents = await this.#switch.read();
      const left = diff(wanted, contents).changes.length;
      // Others change it too: what is left need not be of what was changed.
      if (left > 0) return fail(`${left} differences are left after ${changes.length} changes were made`);
    }
    const [other] = conflicts;
    if (other !== undefined)
      return fail(
        `a flow that is not Muster's is in the way: table=${other.table},${other.match} (${conflicts.length} in all)`,
      );
    this.#verified = { digest, wanted, contents };
    return { kind: changes.length === 0 && !hasRemoved ? 'already' : 'applied' };
  }

  /**
   * Where flows and tunnels only go, as when a peer has left, they are taken away as they were found the last time, without a look
   * before. It can hit nothing but ours, and the look after it is what counts: it puts right whatever is not as it was.
   */
  async #removeStale(wanted: SwitchContents): Promise<boolean> {
    const before = this.#verified?.contents;
    this.#verified = undefined;
    const changes = before === undefined ? [] : diff(wanted, before).changes;
    if (changes.length === 0 || !changes.every(({ kind }) => kind === 'remove-flow' || kind === 'remove-tunnel'))
      return false;
    await this.#switch.apply(changes, before);
    return true;
  }

  async #mapSwitchFailure(work: () => Promise<ReconcileResult>): Promise<ReconcileResult> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof SwitchDown || error instanceof SwitchRefused) return fail(`${error.code}: ${error.message}`);
      throw error;
    }
  }

  #serialize(work: () => Promise<ReconcileResult>, wipes = this.#wipeCount): Promise<ReconcileResult> {
    const result = this.#queue.then(() =>
      wipes === this.#wipeCount ? this.#mapSwitchFailure(work) : fail('this host was ordered to leave'),
    );
    this.#queue = result.catch(() => undefined);
    return result;
  }
}

function fail(problem: string): ReconcileResult {
  return { kind: 'failed', problems: [problem] };
}

/** No service is switched to a host that does not know its way out yet. The other services of the host do not wait for it. */
function unreadyServices({ services }: DataplaneView, gaps: DesiredSwitch['gaps']): UnreadyService[] {
  const preparing = new Set(services.filter(({ role }) => role === 'preparing').map(({ id }) => id));
  const unready = new Map<string, string>();
  for (const { owner, reason, what } of gaps) {
    if (reason !== 'next-hop-unresolved' || !preparing.has(owner.id) || unready.has(owner.id)) continue;
    unready.set(owner.id, `next hop ${what} does not answer`);
  }
  return [...unready].map(([service, because]) => ({ service, because }));
}
