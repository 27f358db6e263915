// Issues statements signed with the control plane's keys: who holds the lease, that a credential is refused, that a view is genuine, and
// which keys and servers there are. It decides nothing; without a key it issues nothing.
import { signStatement } from '../protocol/statement.ts';
import type { SignedText, Signer, Reply } from '../../link/index.ts';
import type { Refusal } from '../../fleet/index.ts';
import type { JoinResponse, View, ViewResponse } from '../protocol/messages.ts';

export interface StatementIssuerOptions {
  readonly journalId: () => string;
  /** Looked up every time: keys are rotated while servers run. Undefined while this server has none. */
  readonly signer?: (() => Signer | undefined) | undefined;
  /** The addresses of the servers of this control plane, as far as this one knows. */
  readonly servers?: (() => readonly string[]) | undefined;
  /** The journals that this one continues: their backup was restored into it. */
  readonly succeeds?: (() => readonly string[]) | undefined;
  /** `over-tls`: agents authenticate this server by its certificate, and their views need no signature. */
  readonly views?: 'signed' | 'over-tls' | undefined;
}

interface CredentialRef {
  readonly host: string;
  readonly token: string | undefined;
}

export class StatementIssuer {
  readonly #options: StatementIssuerOptions;
  /** Signed once for as long as it is unchanged. */
  #controlPlane: { readonly text: string; readonly signed: SignedText } | undefined;

  constructor(options: StatementIssuerOptions) {
    this.#options = options;
  }

  signControlPlane(): SignedText | undefined {
    const signer = this.#signer();
    if (signer === undefined) return undefined;
    const { serial, keys } = signer;
    const servers = [...new Set(this.#options.servers?.() ?? [])].sort();
    const journalId = this.#options.journalId();
    const succeeds = this.#options.succeeds?.() ?? [];
    const statement = {
      ...{ kind: 'control-plane' as const, journalId, serial, keys: [...keys], servers },
      ...(succeeds.length > 0 && { succeeds: [...succeeds] }),
    };
    const text = JSON.stringify(statement);
    if (this.#controlPlane?.text !== text) this.#controlPlane = { text, signed: signStatement(signer, statement) };
    return this.#controlPlane.signed;
  }

  /** The answer to an agent that joined: with the keys and servers that it is to trust from now on. */
  joinResponse(joined: JoinResponse): JoinResponse {
    return { ...joined, ...this.#withControlPlane() };
  }

  viewResponse(view: View, token: string | undefined): ViewResponse {
    const statement = this.signView(view, token);
    return { kind: 'view', view, ...(statement !== undefined && { statement }), ...this.#withControlPlane() };
  }

  unchangedResponse(): ViewResponse {
    return { kind: 'unchanged', ...this.#withControlPlane() };
  }

  #withControlPlane(): { readonly controlPlane?: SignedText } {
    const controlPlane = this.signControlPlane();
    return controlPlane === undefined ? {} : { controlPlane };
  }

  /** A refusal that an agent can distinguish from a forged one. */
  attachProof(refusal: Refusal, credential: CredentialRef): Refusal {
    const statement = this.signCredentialRefusal(credential, refusal.code);
    return statement === undefined ? refusal : { ...refusal, facts: { ...refusal.facts, statement } };
  }

  redirect(lease: { readonly url: string; readonly epoch: number } | undefined): Reply<never> {
    if (lease === undefined) return { kind: 'elsewhere' };
    const statement = this.signHolder(lease.url, lease.epoch);
    return { kind: 'elsewhere', holder: lease.url, ...(statement !== undefined && { statement }) };
  }

  signHolder(url: string, leaseEpoch: number): SignedText | undefined {
    const signer = this.#signer();
    if (signer === undefined) return undefined;
    return signStatement(signer, { kind: 'holder', journalId: this.#options.journalId(), url, leaseEpoch });
  }

  signCredentialRefusal({ host, token }: CredentialRef, code: string): SignedText | undefined {
    const signer = this.#signer();
    if (signer === undefined || token === undefined) return undefined;
    return signStatement(signer, { kind: 'refusal', journalId: this.#options.journalId(), host, token, code });
  }

  signView({ host, stamp, digest }: View, token: string | undefined): SignedText | undefined {
    const signer = this.#options.views === 'over-tls' ? undefined : this.#signer();
    if (signer === undefined || token === undefined) return undefined;
    return signStatement(signer, { kind: 'view', host, token, digest, ...stamp });
  }

  #signer(): Signer | undefined {
    return this.#options.signer?.();
  }
}
