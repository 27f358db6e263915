// The keys that a running server uses: read at its start, and again when the file changes or on SIGHUP. Keys that cannot be read never
// replace those in use.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { publicKeyOf, signText, type SigningKey } from '../agent/runtime.ts';
import { readAuthority, type IssuingKeys, type Signer } from '../link/index.ts';
import type { Clock } from '../journal/index.ts';
import type { KeyIds, OwnKeys } from '../keys/index.ts';
import { keysInForce, keyFileIn, newKeys, readKeys, writeKeys, type ControlPlaneKeys } from './key-file.ts';
import { StartFailure } from './start-failure.ts';

export interface KeyRingOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** The keys that the journal names: then a server without any must be given them, not make its own. */
  readonly recorded: KeyIds | undefined;
}

const POLL_MS = 5000;

interface LoadedKeys {
  readonly text: string;
  readonly keys: ControlPlaneKeys;
  readonly signing: readonly (SigningKey & { readonly retiresAtMs?: number })[];
  readonly authorities: readonly {
    readonly id: string;
    readonly certificate: X509Certificate;
    readonly retiresAtMs?: number;
  }[];
}

export class KeyRing {
  readonly #options: KeyRingOptions;
  #loaded: LoadedKeys;
  #issuing: { readonly id: string; readonly authority: IssuingKeys['authority'] } | undefined;
  #signer: { readonly of: string; readonly signer: Signer } | undefined;

  constructor(options: KeyRingOptions) {
    this.#options = options;
    this.#loaded = load(firstKeys(options));
  }

  get keys(): ControlPlaneKeys {
    return this.#loaded.keys;
  }

  /** Signs with every key in force, so that agents that know only the previous one accept it, too. */
  signer(): Signer {
    const keys = keysInForce(this.#loaded.signing, this.#options.clock.nowMs());
    const of = keys.map(({ id }) => id).join();
    if (this.#signer?.of === of) return this.#signer.signer;
    const { serial } = this.#loaded.keys;
    const signer: Signer = { serial, keys: keys.map(publicKeyOf), sign: (text) => signText(keys, text) };
    this.#signer = { of, signer };
    return signer;
  }

  /** What agent certificates are issued with: the current authority, and all that are in force. */
  issuingKeys(): IssuingKeys {
    const { serial, authorities } = this.#loaded.keys;
    const all = keysInForce(authorities, this.#options.clock.nowMs());
    const [current] = all;
    if (current === undefined) throw new Error('no authority is in force');
    const { id, certificate, privateKey } = current;
    if (this.#issuing?.id !== id) this.#issuing = { id, authority: readAuthority(certificate, privateKey) };
    return { serial, authority: this.#issuing.authority, authorities: all.map((one) => one.certificate) };
  }

  /** The authorities by which agent certificates are checked. */
  authorities(): readonly X509Certificate[] {
    return keysInForce(this.#loaded.authorities, this.#options.clock.nowMs()).map(({ certificate }) => certificate);
  }

  ids(): OwnKeys {
    const { serial, signing, authorities, replacesLost } = this.#loaded.keys;
    const nowMs = this.#options.clock.nowMs();
    const idsOf = (keys: readonly { readonly id: string; readonly retiresAtMs?: number }[]): string[] =>
      keysInForce(keys, nowMs).map(({ id }) => id);
    return {
      ...{ serial, signing: idsOf(signing), authorities: idsOf(authorities) },
      ...(replacesLost === true && { replacesLost }),
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(POLL_MS, signal);
      if (!signal.aborted) this.reload();
    }
  }

  reload(): void {
    const { folder, log } = this.#options;
    try {
      const keys = readKeys(folder);
      if (keys === undefined || JSON.stringify(keys) === this.#loaded.text) return;
      this.#loaded = load(keys);
      this.#signer = undefined;
      log.info({ serial: keys.serial, file: keyFileIn(folder) }, 'keys were reloaded');
    } catch (error) {
      if (!(error instanceof StartFailure)) throw error;
      log.error({ reason: error.message }, 'the keys cannot be reloaded; the previous ones stay in use');
    }
  }
}

function firstKeys({ folder, clock, log, recorded }: KeyRingOptions): ControlPlaneKeys {
  const found = readKeys(folder);
  if (found !== undefined) return found;
  if (recorded !== undefined)
    throw new StartFailure(
      `This control plane has keys (signing key ${recorded.signing[0]}, agent CA ${recorded.authorities[0]}), and there are none in ${folder}. Copy the key file from another server, or from where you keep your secrets, to ${keyFileIn(folder)}, or name its folder with --keys. If they are lost: muster keys create --keys ${folder}`,
    );
  const made = newKeys(clock.nowMs());
  writeKeys(folder, made);
  log.info({ file: keyFileIn(folder) }, 'made the keys of this control plane: copy them to its other servers');
  return made;
}

function load(keys: ControlPlaneKeys): LoadedKeys {
  try {
    return {
      text: JSON.stringify(keys),
      keys,
      signing: keys.signing.map((key) => ({ ...key, privateKey: createPrivateKey(key.privateKey) })),
      authorities: keys.authorities.map((one) => ({ ...one, certificate: new X509Certificate(one.certificate) })),
    };
  } catch (error) {
    throw new StartFailure(
      `${(error as Error).message}: a key of this control plane is damaged. Copy the file again.`,
      {
        cause: error,
      },
    );
  }
}
