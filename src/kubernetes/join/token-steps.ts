// The bootstrap token of an operation: one for all of its workers, made when the first of them needs it, and made again when it would expire before a join ends.
import { put } from '../../fleet/index.ts';
import {
  expectUnchanged,
  fail,
  record,
  wait,
  type ActionOutcome,
  type PlannedStep,
  type RecordStep,
} from '../../operations/index.ts';
import { readJoinResult, type JoinOrder } from './join-order.ts';
import { joinByMs, makesToken, waitOrFail, whenDue, type Joining } from './joining.ts';
import { actOnMachine } from './machine-steps.ts';
import { TOKEN_LIFETIME_MS, WORKER_JOIN, type WorkerJoin } from './model.ts';

const AWAY_RETRY_MS = 2000;
/** A join that takes the whole lifetime of a token can use a new one alone. */
const FRESH_MS = TOKEN_LIFETIME_MS - 5 * 60 * 1000;

export function planToken(joining: Joining): readonly PlannedStep[] {
  const { fleet, item, worker } = joining;
  if (isTokenGood(joining)) return [record(item, { state: 'running', step: 'contact' })];
  const isRevoked = joining.join.doc.token.state === 'revoking';
  if (isRevoked || !makesToken(fleet, item)) return [wait(item, { code: 'token-awaited', worker: worker.id })];
  return whenDue(joining, () =>
    isRequested(joining) ? actOnMachine(item, composeOrder(joining)) : noteRequest(joining),
  );
}

function isRequested({ join }: Joining): boolean {
  return join.doc.token.state === 'making';
}

/** That the cluster may have it is committed before it is requested: whatever ends the operation before the answer, it is revoked. */
function noteRequest(joining: Joining): RecordStep {
  return record(joining.item, { state: 'running', step: 'token' }, changeToken(joining, { state: 'making' }));
}

function isTokenGood(joining: Joining): boolean {
  const { join, nowMs } = joining;
  const { state, expiresAtMs = 0 } = join.doc.token;
  return state === 'made' && expiresAtMs >= Math.min(joinByMs(joining), nowMs + FRESH_MS);
}

function composeOrder({ worker, join, nowMs }: Joining): JoinOrder {
  const { cluster, node } = worker.doc;
  return { op: 'create-token', cluster, node, operation: join.doc.operation, expiresAtMs: nowMs + TOKEN_LIFETIME_MS };
}

export function observeToken(joining: Joining, outcome: ActionOutcome): RecordStep {
  const { item, nowMs } = joining;
  const result = readJoinResult(outcome);
  if (result.kind === 'trouble' && result.trouble === 'refused') return fail(item, result.reason);
  if (result.kind === 'trouble') return waitOrFail(joining, result.reason, nowMs + AWAY_RETRY_MS);
  if (result.kind !== 'token-created') throw new Error(`a token was to be made, and the answer is ${result.kind}`);
  const made = changeToken(joining, { state: 'made', expiresAtMs: result.expiresAtMs });
  return record(item, { state: 'running', step: 'contact' }, made);
}

function changeToken({ join, nowMs, by }: Joining, facts: Partial<WorkerJoin['token']>) {
  const { mayArriveUntilMs: _, ...token } = join.doc.token;
  const doc = { ...join.doc, token: { ...token, ...facts }, changedBy: by, changedAtMs: nowMs };
  return { changes: [put(WORKER_JOIN, join.id, doc)], expects: [expectUnchanged(WORKER_JOIN, join)] };
}
