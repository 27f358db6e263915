// Reads one inventory at the lease holder, pass after pass: its nodes, those that it did not show, then the claims on them. One request at a time, a page and a
// pause; what it cannot answer breaks the pass off, and nothing is concluded from what was not read. It remembers nothing that a new holder would need.
import { ALARM, alarmId } from '../../alarms/index.ts';
import { valueOf, type Change, type FleetReader } from '../../fleet/index.ts';
import {
  accept,
  LeaseHolderLoop,
  NotHolder,
  type Clock,
  type Journal,
  type LeasePass,
  type Log,
} from '../../journal/index.ts';
import { shortenText } from '../../operations/index.ts';
import {
  InventoryUnavailable,
  type InventoryCallOptions,
  type Inventory,
  type InventoryNode,
} from '../drivers/inventory.ts';
import { INVENTORY_UNREACHABLE, NODE, type InventoryName } from '../model.ts';
import { noteClaimMode, noteReachable, noteUnreachable, noteWholePass } from './alarms.ts';
import { findMissing, findUnknown, isConfirmed, type ClaimDoubt } from './claims-check.ts';
import { recordGone, recordShown } from './record.ts';
import { INVENTORY_REFRESH } from './settings.ts';

export interface RefreshOptions {
  readonly journal: Pick<Journal, 'fence' | 'fleet' | 'submit'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly inventory: Inventory;
}

const BY = 'inventories';
/** A page of a thousand nodes takes an inventory up to ten seconds. */
const READ_MAX_MS = 30_000;
/** A request that fails is repeated once before it is reported. */
const RETRY_MS = 1000;
const TRIES = 2;
/** Nodes that a list did not show are read one by one: so many in the time of a page. */
const LOOKS_PER_INTERVAL = 20;
/** Nodes of one commit: other decisions wait a few milliseconds for it. */
const NODES_PER_COMMIT = 250;
const NODES_PER_SCAN = 1000;
const TEXT_MAX = 300;

export class InventoryRefresh {
  readonly #options: RefreshOptions;
  readonly #loop: LeaseHolderLoop;
  /** The lease under which a pass came to its end: from then on a page is followed by a pause. */
  #settledUnder: number | undefined;
  #failing: { readonly sinceMs: number; readonly times: number } | undefined;
  /** How far changes were read. */
  #changesUpTo: string | undefined;

  constructor(options: RefreshOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: `inventory ${options.inventory.name}`,
      reconcile: (pass) => this.#reconcile(pass),
      intervalMs: () => this.#settings.intervalMs,
      isSilent: true,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  async reconcile(): Promise<void> {
    await this.#loop.reconcile();
  }

  get #name(): InventoryName {
    return this.#options.inventory.name;
  }

  get #settings(): (typeof INVENTORY_REFRESH)['defaultValue'] {
    return valueOf(this.#options.journal.fleet, INVENTORY_REFRESH);
  }

  async #reconcile(pass: LeasePass): Promise<void> {
    const { epoch } = pass.fence ?? {};
    if (this.#settledUnder !== epoch) this.#changesUpTo = undefined;
    try {
      if (await this.#readAll(pass)) this.#settledUnder = epoch;
    } catch (error) {
      // It has been counted where it was read, and the next pass begins anew.
      if (!(error instanceof InventoryUnavailable)) throw error;
    }
  }

  /** False when there is nothing outside to read. */
  async #readAll(pass: LeasePass): Promise<boolean> {
    const { clock, inventory } = this.#options;
    // What it answers may be remembered: that says nothing of whether it answers now.
    const claims = await this.#read(pass, (how) => inventory.claims(how), { isEvidence: false });
    const { nowMs } = pass;
    await this.#commit(`claims are ${claims}`, (fleet) =>
      noteClaimMode(fleet, { inventory: this.#name, claims, nowMs }),
    );
    if (claims === 'inline') return false;
    const beganAtMs = clock.nowMs();
    const { seen, doubts } = await this.#readNodes(pass);
    doubts.push(...(await this.#lookFor(pass, await this.#findUnshown(seen))));
    doubts.push(...(await this.#readClaims(pass)));
    const confirmed = await this.#confirm(pass, doubts);
    await this.#commit('the whole inventory was read', (fleet) =>
      noteWholePass(fleet, {
        inventory: this.#name,
        pass: { beganAtMs, endedAtMs: clock.nowMs(), nodes: seen.size },
        doubts: confirmed,
      }),
    );
    return true;
  }

  async #readNodes(pass: LeasePass): Promise<{ readonly seen: Set<string>; readonly doubts: ClaimDoubt[] }> {
    const { inventory, journal } = this.#options;
    const seen = new Set<string>();
    const doubts: ClaimDoubt[] = [];
    await this.#forEachPage(pass, async (after, limit) => {
      const { revision } = journal.fleet;
      const { nodes, next } = await this.#read(pass, (how) => inventory.list(after, limit, how));
      for (const { id } of nodes) seen.add(id);
      await this.#record(nodes, revision);
      doubts.push(...this.#findMissing(nodes));
      return next;
    });
    return { seen, doubts };
  }

  async #readClaims(pass: LeasePass): Promise<ClaimDoubt[]> {
    const { inventory, journal } = this.#options;
    const doubts: ClaimDoubt[] = [];
    await this.#forEachPage(pass, async (after, limit) => {
      const { claims, next } = await this.#read(pass, (how) => inventory.listClaims(after, limit, how));
      doubts.push(...findUnknown(journal.fleet, claims));
      return next;
    });
    return doubts;
  }

  async #forEachPage(
    pass: LeasePass,
    readPage: (after: string | undefined, limit: number) => Promise<string | undefined>,
  ): Promise<void> {
    let after: string | undefined;
    do {
      after = await readPage(after, this.#settings.pageSize);
      await this.#rest(pass);
    } while (after !== undefined);
  }

  /** The first pass of a holder has to catch up. Later a pause follows each page, and what changed in it is looked at before the next one. */
  async #rest(pass: LeasePass): Promise<void> {
    const { clock } = this.#options;
    if (this.#settledUnder !== pass.fence?.epoch) return clock.turn();
    await clock.sleep(this.#settings.intervalMs, pass.signal);
    await this.#readChanges(pass);
  }

  async #readChanges(pass: LeasePass): Promise<void> {
    const { inventory, journal } = this.#options;
    const since = this.#changesUpTo;
    let upTo: string | undefined;
    let after: string | undefined;
    do {
      const { revision } = journal.fleet;
      const { pageSize: limit } = this.#settings;
      const page = await this.#read(pass, (how) => inventory.listChanges({ since, after, limit }, how));
      if (page === undefined) return;
      upTo ??= page.upTo;
      await this.#record(page.nodes, revision);
      after = page.next;
    } while (after !== undefined);
    this.#changesUpTo = upTo;
  }

  async #record(nodes: readonly InventoryNode[], readAtRevision: number): Promise<void> {
    const nowMs = this.#options.clock.nowMs();
    for (let at = 0; at < nodes.length; at += NODES_PER_COMMIT) {
      const slice = nodes.slice(at, at + NODES_PER_COMMIT);
      const shown = { nodes: slice, inventory: this.#name, readAtRevision, by: BY, nowMs };
      await this.#commit(`as inventory ${this.#name} shows them`, (fleet) => recordShown(fleet, shown));
    }
  }

  /** Nodes on record that a whole list has not shown. It may have left them out for a reason that says nothing of them. */
  async #findUnshown(seen: ReadonlySet<string>): Promise<string[]> {
    const { journal, clock } = this.#options;
    const unshown: string[] = [];
    let after = '';
    for (;;) {
      const page = journal.fleet.page(NODE, after, NODES_PER_SCAN);
      for (const { id, doc } of page)
        if (doc.inventory === this.#name && doc.state !== 'removed' && !seen.has(id)) unshown.push(id);
      const last = page.at(-1);
      if (last === undefined || page.length < NODES_PER_SCAN) return unshown;
      after = last.id;
      await clock.turn();
    }
  }

  async #lookFor(pass: LeasePass, nodes: readonly string[]): Promise<ClaimDoubt[]> {
    const doubts: ClaimDoubt[] = [];
    for (const [nth, node] of nodes.entries()) {
      await this.#restBeforeLook(pass, nth);
      const found = await this.#look(pass, node);
      doubts.push(...this.#findMissing([found === 'gone' ? { id: node } : found]));
    }
    return doubts;
  }

  /** As many are read one by one as a page costs, and then there is a pause. */
  async #restBeforeLook(pass: LeasePass, nth: number): Promise<void> {
    if (nth === 0 || nth % LOOKS_PER_INTERVAL !== 0) return;
    await this.#options.clock.sleep(this.#settings.intervalMs, pass.signal);
  }

  #findMissing(nodes: Parameters<typeof findMissing>[1]): ClaimDoubt[] {
    const { fleet } = this.#options.journal;
    return findMissing(fleet, nodes, { inventory: this.#name, claimIdOf: this.#claimIdOf });
  }

  /** Only what the inventory says of this one node takes it away. */
  async #look(pass: LeasePass, node: string): Promise<InventoryNode | 'gone'> {
    const { inventory, journal, clock, log } = this.#options;
    const { revision: readAtRevision } = journal.fleet;
    const found = await this.#read(pass, (how) => inventory.find(node, how));
    if (found !== 'gone') {
      await this.#record([found], readAtRevision);
      return found;
    }
    const gone = { node, inventory: this.#name, readAtRevision, by: BY, nowMs: clock.nowMs() };
    if (await this.#commit(`inventory ${this.#name} has it no more`, (fleet) => recordGone(fleet, gone)))
      log.info({ inventory: this.#name, node }, 'the inventory says that a node is gone');
    return found;
  }

  /** What two lists disagreed on may have changed between them. */
  async #confirm(pass: LeasePass, doubts: readonly ClaimDoubt[]): Promise<ClaimDoubt[]> {
    const { journal } = this.#options;
    const confirmed: ClaimDoubt[] = [];
    for (const [nth, doubt] of doubts.entries()) {
      await this.#restBeforeLook(pass, nth);
      const found = await this.#look(pass, doubt.node);
      if (isConfirmed(journal.fleet, doubt, { found, claimIdOf: this.#claimIdOf })) confirmed.push(doubt);
    }
    return confirmed;
  }

  readonly #claimIdOf: Inventory['claimIdOf'] = (claim) => this.#options.inventory.claimIdOf(claim);

  async #read<T>(
    pass: LeasePass,
    read: (how: InventoryCallOptions) => Promise<T>,
    { isEvidence = true }: { readonly isEvidence?: boolean } = {},
  ): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      this.#requireLease(pass);
      try {
        const answer = await this.#ask(pass, read);
        if (isEvidence) await this.#noteAnswer();
        return answer;
      } catch (error) {
        if (!(error instanceof InventoryUnavailable)) throw error;
        this.#requireLease(pass);
        await this.#noteFailure(error);
        if (tries >= TRIES || this.#isUnreachable) throw error;
      }
      await this.#options.clock.sleep(RETRY_MS, pass.signal);
    }
  }

  #requireLease({ fence, signal }: LeasePass): void {
    if (signal.aborted || this.#options.journal.fence?.epoch !== fence?.epoch) throw new NotHolder();
  }

  /** One that does not answer in time does not answer. */
  async #ask<T>({ signal }: LeasePass, read: (how: InventoryCallOptions) => Promise<T>): Promise<T> {
    const over = new AbortController();
    const stop = (): void => over.abort('the server stops');
    signal.addEventListener('abort', stop, { once: true });
    const answer = read({ signal: over.signal });
    const late = this.#options.clock.sleep(READ_MAX_MS, over.signal).then((): never => {
      throw new InventoryUnavailable('it did not answer in time');
    });
    late.catch(() => undefined); // it outlives the answer
    answer.catch(() => undefined); // it comes too late
    try {
      return await Promise.race([answer, late]);
    } finally {
      signal.removeEventListener('abort', stop);
      over.abort('over');
    }
  }

  get #isUnreachable(): boolean {
    return this.#options.journal.fleet.get(ALARM, alarmId(INVENTORY_UNREACHABLE, this.#name)) !== undefined;
  }

  async #noteAnswer(): Promise<void> {
    this.#failing = undefined;
    if (!this.#isUnreachable) return;
    if (await this.#commit(`inventory ${this.#name} answers again`, (fleet) => noteReachable(fleet, this.#name)))
      this.#options.log.info({ inventory: this.#name }, 'the inventory answers again');
  }

  async #noteFailure({ message }: InventoryUnavailable): Promise<void> {
    const { clock, log } = this.#options;
    const { sinceMs, times } = this.#failing ?? { sinceMs: clock.nowMs(), times: 0 };
    this.#failing = { sinceMs, times: times + 1 };
    if (this.#failing.times < TRIES || this.#isUnreachable) return;
    const text = shortenText(message, TEXT_MAX);
    log.warn({ inventory: this.#name, why: text }, 'the inventory does not answer: nothing of it is taken away');
    await this.#commit(`inventory ${this.#name} does not answer`, (fleet) =>
      noteUnreachable(fleet, { inventory: this.#name, sinceMs, text }),
    );
  }

  /** Whether there was something to commit. */
  async #commit(why: string, decide: (fleet: FleetReader) => Change[]): Promise<boolean> {
    const { journal } = this.#options;
    if (decide(journal.fleet).length === 0) return false;
    const outcome = await journal.submit({ by: BY, why, decide: (fleet) => accept(decide(fleet), null) });
    return outcome.kind === 'accepted';
  }
}
