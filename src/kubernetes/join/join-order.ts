// What the driver of joins is given, and what it answers: data without secrets. It opens those of the cluster and of the operation by itself.
import type { ActionOutcome } from '../../operations/index.ts';
import { readTrouble, toTroubleOutcome, type Trouble } from '../drain/node-order.ts';
import type { SshAddress } from '../machines/ssh/machine.ts';
import type { ContactAnswer, JoinSettings, ReachAnswer } from '../machines/reach.ts';

export const JOINS_DRIVER = 'kubernetes-joins';

export type MachineAddress = { readonly kind: 'simulated' } | SshAddress;

interface OrderBase {
  readonly cluster: string;
  readonly node: string;
}

interface OfToken extends OrderBase {
  /** Whose token it is. */
  readonly operation: string;
}

export type JoinOrder =
  /** Made again under the same id it is the same token, with another expiry. */
  | ({ readonly op: 'create-token'; readonly expiresAtMs: number } & OfToken)
  | ({ readonly op: 'contact'; readonly address: MachineAddress } & OrderBase)
  /** One pass of the script, ended at the latest at this time. */
  | ({
      readonly op: 'join';
      readonly address: MachineAddress;
      readonly settings: JoinSettings;
      readonly untilMs: number;
    } & OfToken)
  /** One pass of the script that takes the machine out of its cluster, ended at the latest at this time. */
  | ({ readonly op: 'leave'; readonly address: MachineAddress; readonly untilMs: number } & OrderBase);

export type JoinResult =
  { readonly kind: 'token-created'; readonly expiresAtMs: number } | ContactAnswer | ReachAnswer | Trouble;

export function toJoinOutcome(result: JoinResult): ActionOutcome {
  return result.kind === 'trouble' ? toTroubleOutcome(result) : { kind: 'applied', facts: { result } };
}

export function readJoinResult(outcome: ActionOutcome): JoinResult {
  if (outcome.kind === 'stale') throw new Error('an order to join is not refused by its lease epoch');
  return outcome.kind === 'failed' ? readTrouble(outcome.reason) : (outcome.facts?.['result'] as JoinResult);
}
