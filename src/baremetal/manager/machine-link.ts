// The way of a manager to simulated machines: the server that decides has them, and checks the right to act in the commit of each call.
import { Type } from 'typebox';
import { compileChecker } from '../../fleet/index.ts';
import type { LeaderClient } from '../../link/index.ts';
import type { ReplyClient } from '../../link/runtime.ts';
import type { InventoryCallOptions, MachineCall, MachineOutcome, MachineStatus } from '../drivers/inventory.ts';
import type { MachineLink, MachineReply } from '../drivers/simulated/machine-driver.ts';

const OUTCOME = Type.Object({ kind: Type.Enum(['applied', 'already', 'stale', 'failed']) });
const STATUS = Type.Object({ state: Type.String(), power: Type.String(), instance: Type.Optional(Type.String()) });
const CHECKS = { outcome: compileChecker(OUTCOME), status: compileChecker(STATUS) };

/** A machine's controller that breaks off: what became of the call is not known. */
const ANSWER_LOST = 'answer-lost';

interface MachineLinkParts {
  readonly leader: LeaderClient;
  readonly client: ReplyClient;
  readonly token: () => string | undefined;
}

export class HttpMachineLink implements MachineLink {
  readonly #parts: MachineLinkParts;

  constructor(parts: MachineLinkParts) {
    this.#parts = parts;
  }

  async act({ node, ...body }: MachineCall, { signal }: InventoryCallOptions): Promise<MachineReply> {
    const { leader, client, token } = this.#parts;
    const secret = token();
    if (secret === undefined) return { kind: 'away' };
    const path = `/api/v1/nodes/${encodeURIComponent(node)}/actions`;
    const request = { body, check: CHECKS.outcome, signal };
    const said = await leader.call(secret, (to) => client.post<MachineOutcome>(to, path, request), signal);
    if (said.kind === 'answer') return { kind: 'outcome', outcome: said.answer };
    if (said.kind === 'away' || said.code === ANSWER_LOST) return { kind: 'away' };
    return { kind: 'refused', code: said.code, message: said.message };
  }

  async inspect(node: string, { signal }: InventoryCallOptions): Promise<MachineStatus | undefined> {
    const { leader, client, token } = this.#parts;
    const secret = token();
    if (secret === undefined) return undefined;
    const path = `/api/v1/nodes/${encodeURIComponent(node)}/machine`;
    const request = { check: CHECKS.status, signal };
    const said = await leader.call(secret, (to) => client.get<MachineStatus>(to, path, request), signal);
    return said.kind === 'answer' ? said.answer : undefined;
  }
}
