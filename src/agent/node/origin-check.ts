// Whether what reached an agent is of its control plane: by the link that it came over, or by a signature. What is not proven is reported.
import type { SignedText } from '../../link/index.ts';
import { AuthenticityReport } from './authenticity-report.ts';
import { digestOf } from '../protocol/digest.ts';
import type { ViewResponse } from '../protocol/messages.ts';
import type { AgentPorts } from './ports.ts';
import type { MembershipState } from './state/agent-state-store.ts';
import { authenticateView, isRefusalAuthentic, type Provenance, type ViewAuthenticity } from './trust.ts';

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
  readonly #report: AuthenticityReport;

  constructor(ports: Pick<AgentPorts, 'link' | 'verify' | 'log'>, credential: () => CurrentCredential | undefined) {
    this.#ports = ports;
    this.#credential = credential;
    this.#report = new AuthenticityReport(ports.log);
  }

  /** What has reached this agent without proof. */
  get problems(): readonly string[] {
    return this.#report.problems;
  }

  /** How something reached this agent. */
  provenanceOf(via: string): Provenance {
    const { link, verify } = this.#ports;
    return { isAuthenticated: link.isAuthenticated(via), verify };
  }

  /** Says so when it is not of the control plane, or when that is unknown. */
  authenticateView({ view, statement }: Extract<ViewResponse, { kind: 'view' }>, via: string): ViewAuthenticity {
    const current = this.#credential();
    if (current === undefined) return 'not-authentic';
    const authenticity = authenticateView(current.trust, {
      ...this.provenanceOf(via),
      token: current.token,
      signed: statement,
      view,
      digest: () => digestOf({ host: view.host, parts: view.parts, tasks: view.tasks }),
    });
    this.#report.reportView(authenticity, via);
    return authenticity;
  }

  isRefusalProven({ code, statement, via }: ServerRefusal): boolean {
    const current = this.#credential();
    if (current === undefined) return false;
    const { host, token, trust } = current;
    return isRefusalAuthentic(trust, { ...this.provenanceOf(via), host, token, code, signed: statement });
  }

  reportRemoval(via: string): void {
    this.#report.reportRemoval(via);
  }

  /** It has joined: what came before is over. */
  clear(): void {
    this.#report.clear();
  }
}
