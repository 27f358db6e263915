// Compares the keys of this server with those of its control plane, periodically: files are copied and rotated while it runs. It
// writes as the lease holder only, and never writes a key.
import { LeaseHolderLoop, type Clock, type Journal, type LeasePass, type Log } from '../journal/index.ts';
import { compareKeys, recordKeys, type KeyAgreement, type OwnKeys } from './decide.ts';
import { findKeyIds } from './model.ts';

export interface KeysControllerOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly keys: { ids(): OwnKeys };
  readonly intervalMs?: number;
}

const INTERVAL_MS = 5000;
/** Until the first holder has written down its keys, a server without any could make its own; and after a backup was restored agents wait for it. */
const NOT_RECORDED_MS = 250;

export class KeysController {
  readonly #options: KeysControllerOptions;
  readonly #loop: LeaseHolderLoop;
  #lastAgreement: KeyAgreement | undefined;
  /** What was last written down, and in which epoch: nothing is committed to say the same again. */
  #recorded = '';

  constructor(options: KeysControllerOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'keys',
      reconcile: (pass) => this.#compareAndRecord(pass),
      intervalMs: () => (this.#isRecorded() ? (options.intervalMs ?? INTERVAL_MS) : NOT_RECORDED_MS),
      // Every server compares its keys.
      runsAsFollower: true,
      isSilent: true,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  async reconcile(): Promise<void> {
    await this.#loop.reconcile();
  }

  #isRecorded(): boolean {
    const { journal } = this.#options;
    return findKeyIds(journal.fleet)?.journals[0] === journal.journalId;
  }

  async #compareAndRecord({ nowMs, fence }: LeasePass): Promise<void> {
    const { journal, log, keys } = this.#options;
    const own = keys.ids();
    const agreement = compareKeys(findKeyIds(journal.fleet), own);
    if (agreement === 'different' && this.#lastAgreement !== 'different')
      log.error(
        { serial: own.serial, signing: own.signing[0] },
        'this server has other keys than its control plane: agents will not believe it. Copy control-plane-keys.json from another server',
      );
    this.#lastAgreement = agreement;
    const stated = `${fence?.epoch} ${JSON.stringify(own)}`;
    if (fence === undefined || stated === this.#recorded) return;
    const before = findKeyIds(journal.fleet)?.journals[0];
    const { journalId } = journal;
    await journal.submit({
      by: 'server',
      why: 'compare keys',
      decide: (fleet) => recordKeys(fleet, { own, journalId, nowMs }),
    });
    this.#recorded = stated;
    if (agreement === 'none-recorded' || agreement === 'later')
      log.info({ serial: own.serial }, 'recorded which keys this control plane has');
    if (before !== undefined && before !== journalId)
      log.warn(
        { journal: journalId, before },
        'a backup of another journal was restored into this one: agents follow it from now on',
      );
  }
}
