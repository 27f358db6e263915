// The replies of the simulated back end, and their outcomes. It changes nothing.
import { NetworkUnavailable, type OrderResult, type PortAnswer, type PortOutcome } from '../back-end.ts';
import { replyOutcome, type BackEndReply } from '../reply.ts';
import type { SimulatedOp } from './faults.ts';
import { BINDING_FAILED, type OrderEffect } from './ports.ts';

export type PortResult =
  { readonly kind: 'stale' } | { readonly kind: 'applied' | 'already'; readonly answer: PortAnswer };

/** The status and code for the outcome of a fault. */
export const REPLIES: Readonly<Record<Exclude<PortOutcome, 'ok'>, BackEndReply>> = {
  'binding-failed': { status: 200, type: BINDING_FAILED },
  'pool-empty': { status: 409, code: 'IpAddressGenerationFailure' },
  'mapping-gone': { status: 409, code: 'HostNotConnectedToAnySegment' },
  'address-not-carried': { status: 409, code: 'HostNotCompatibleWithFixedIps' },
  'not-found': { status: 404 },
  taken: { status: 409, code: 'PortInUse' },
  quota: { status: 409, code: 'OverQuota' },
  forbidden: { status: 403 },
  unavailable: { status: 503 },
};

export function answerLost(): NetworkUnavailable {
  return new NetworkUnavailable('the answer of the back end was lost');
}

export function toPortResult(done: OrderEffect, port: string, op: Exclude<SimulatedOp, 'spawn'>): PortResult {
  if (done.kind === 'stale') return done;
  const outcome = replyOutcome(done.reply, op === 'bind' || op === 'activate' ? 'binding' : 'success');
  const ends = op === 'unbind' || op === 'delete';
  if (outcome === 'not-found' && ends) return { kind: done.kind, answer: { port, outcome: 'ok', text: 'it was gone' } };
  if (outcome !== 'ok') return { kind: done.kind, answer: { port, outcome, text: textOf(done.reply) } };
  const { mac, addresses, binding } = done.port ?? {};
  const answer: PortAnswer = {
    port,
    outcome,
    ...(mac !== undefined && { mac }),
    ...(addresses !== undefined && { addresses: addresses.map(({ ip, subnet }) => ({ ip, subnet })) }),
    ...(binding !== undefined && { type: binding.type }),
  };
  return { kind: done.kind, answer };
}

function textOf({ status, code, type }: BackEndReply): string {
  return `the back end answered ${[status, code, type].filter((part) => part !== undefined).join(' ')}`;
}

export function joinResults(ports: readonly PortResult[]): OrderResult {
  const answers: PortAnswer[] = [];
  for (const one of ports) {
    if (one.kind === 'stale') return one;
    answers.push(one.answer);
  }
  return { kind: ports.every(({ kind }) => kind === 'already') ? 'already' : 'applied', ports: answers };
}
