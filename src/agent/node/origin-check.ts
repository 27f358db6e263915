// Whether what reached an agent is of its control plane: by the link that it came over, or by a signature. What is not proven is told, until
// something that is proven comes.
import type { SignedText } from '../../link/index.ts';
import { digestOf } from '../protocol/digest.ts';
import type { ViewResponse } from '../protocol/messages.ts';
import type { AgentPorts } from './ports.ts';
import type { MembershipState } from './state/agent-state-store.ts';
import { isRefusalAuthentic, isViewAuthentic, type Provenance } from './trust.ts';

type CurrentCredential = NonNullable<MembershipState['current']>;

/** A refusal and the server that it came from. */
export interface ServerRefusal {
  readonly code: string;
  readonly message: string;
  readonly statement?: SignedText | undefined;
  readonly via: string;
}

export class OriginCheck {
  readonly #ports: Pick<AgentPorts, 'link' | 'verify' | 'log'>;
  readonly #credential: () => CurrentCredential | undefined;
  #unproven: string | undefined;

  constructor(ports: Pick<AgentPorts, 'link' | 'verify' | 'log'>, credential: () => CurrentCredential | undefined) {
    this.#ports = ports;
    this.#credential = credential;
  }

  /** What has reached this agent without proof. */
  get problems(): readonly string[] {
    return this.#unproven === undefined ? [] : [this.#unproven];
  }

  /** How something reached this agent. */
  provenanceOf(via: string): Provenance {
    const { link, verify } = this.#ports;
    return { isAuthenticated: link.isAuthenticated(via), verify };
  }

  /** Says so when it is not. */
  isViewProven({ view, statement }: Extract<ViewResponse, { kind: 'view' }>, via: string): boolean {
    const current = this.#credential();
    if (current === undefined) return false;
    const isProven = isViewAuthentic(current.trust, {
      ...this.provenanceOf(via),
      token: current.token,
      signed: statement,
      view,
      digest: () => digestOf({ host: view.host, parts: view.parts, tasks: view.tasks }),
    });
    if (isProven) this.clear();
    else this.report('view-not-authentic', via, 'a view');
    return isProven;
  }

  isRefusalProven({ code, statement, via }: ServerRefusal): boolean {
    const current = this.#credential();
    if (current === undefined) return false;
    const { host, token, trust } = current;
    return isRefusalAuthentic(trust, { ...this.provenanceOf(via), host, token, code, signed: statement });
  }

  report(code: string, via: string, what: string): void {
    const message = `${via} sent ${what} without proof that it is of the control plane. This host goes on with its last view. Use HTTPS, or join it again.`;
    if (this.#unproven !== message) this.#ports.log.warn({ code, server: via }, message);
    this.#unproven = message;
  }

  clear(): void {
    this.#unproven = undefined;
  }
}
