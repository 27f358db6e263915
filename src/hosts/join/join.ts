// The operation `host-join`: a registered host becomes active once its agent sends heartbeats and has checked its machine. Until then it
// waits with a reason. A host must never become active on a registration alone.
import { revokeTokenChange, TOKEN, tokensOfHost } from '../../access/index.ts';
import { put, type Change } from '../../fleet/index.ts';
import {
  expectUnchanged,
  fail,
  newOperation,
  OPEN_ITEMS_BY_TARGET,
  record,
  wait,
  type PlannedStep,
  type OperationId,
  type OperationKind,
  type ReasonSentences,
  type RecordStep,
  type StoredItem,
  formatFact,
  formatProblems,
  targetKey,
} from '../../operations/index.ts';
import { findHost, type StoredHost } from '../decide.ts';
import { HOST } from '../model.ts';
import { abandonJoin, isToBeFinalized } from './re-admit.ts';
import { END_DEADLINE_MS, END_KIND, finalizeItem } from '../scale-in/host-items.ts';

/** An agent that found problems on its machine checks again after this time. */
const PREFLIGHT_AGAIN_MS = 30_000;

const JOINER = 'operation:host-join';

export const JOIN_DEADLINE_MS = 3600 * 1000;

export const hostJoin: OperationKind = {
  name: 'host-join',
  steps: ['await-agent', 'preflight', 'activate'],
  cancel: {
    kind: 'does',
    what: 'hosts that are not active yet are deleted, or removed if peers may have tunnels to them; the others stay',
  },
  retry: { kind: 'does', what: 'hosts that did not come in time are waited for again' },

  plan: (fleet, items, nowMs) =>
    items.flatMap((item) => {
      const host = findHost(fleet, item.doc.target.id);
      return host === undefined ? [fail(item, hostRemovedReason(item))] : planItem(item, host, nowMs);
    }),

  undo: (fleet, item, nowMs) => {
    const host = findHost(fleet, item.doc.target.id);
    // A later join of the same host owns it now: this one must not delete it.
    const others = fleet.countOf(OPEN_ITEMS_BY_TARGET, targetKey(HOST.name, item.doc.target.id)) > 1;
    if (host?.doc.state !== 'joining' || others) return { changes: [], expects: [] };
    const tokens = tokensOfHost(fleet, host.id);
    return {
      changes: [
        ...endAbandonedJoin(host, `end-${item.id}.${nowMs}` as OperationId, nowMs),
        ...tokens.map((token) => revokeTokenChange(token, JOINER, nowMs)),
      ],
      expects: [expectUnchanged(HOST, host), ...tokens.map((token) => expectUnchanged(TOKEN, token))],
    };
  },

  task: (item) =>
    item.doc.step === 'preflight' && item.doc.state === 'running' ? { kind: 'preflight', args: {} } : undefined,

  handleTaskAnswer: (item, answer, { nowMs }): RecordStep => {
    if (answer.outcome === 'done') return record(item, { state: 'running', step: 'activate' });
    const reason = { code: 'preflight-failed', host: item.doc.target.id, problems: answer.problems ?? [] };
    return wait(item, reason, nowMs + PREFLIGHT_AGAIN_MS);
  },
};

/** The host is deleted, or leaves as others do if peers may have tunnels to it. */
function endAbandonedJoin(host: StoredHost, operation: OperationId, nowMs: number): Change[] {
  const change = abandonJoin(host, operation, { by: JOINER, nowMs });
  if (!isToBeFinalized(host.doc)) return [change];
  const title = `remove host ${host.id}, whose join was cancelled`;
  const { site } = host.doc;
  const items = [finalizeItem(host.id)];
  return [
    change,
    ...newOperation({
      id: operation,
      kind: END_KIND,
      title,
      by: JOINER,
      site,
      nowMs,
      deadlineMs: END_DEADLINE_MS,
      items,
    }),
  ];
}

function planItem(item: StoredItem, host: StoredHost, nowMs: number): readonly PlannedStep[] {
  const { step, state, attempt, retryAtMs } = item.doc;
  if (host.doc.state !== 'joining') return [finishInService(item, host)];
  const missing = agentMissing(host);
  if (missing !== undefined) return [wait(item, missing)];
  switch (step) {
    case 'await-agent':
      return [record(item, { state: 'running', step: 'preflight' })];
    case 'preflight': {
      const again = state !== 'running' && nowMs >= (retryAtMs ?? 0);
      return again ? [record(item, { state: 'running', step, attempt: attempt + 1 })] : [];
    }
    case 'activate':
      return [activateHost(item, host, nowMs)];
    default:
      throw new Error(`host-join has no step "${step}"`);
  }
}

function agentMissing(host: StoredHost): { readonly code: string; readonly host: string } | undefined {
  if (host.doc.credential === undefined) return { code: 'agent-not-joined', host: host.id };
  if (host.doc.connection.state !== 'up') return { code: 'agent-not-connected', host: host.id };
  return undefined;
}

/** The host is active, or leaving again: nothing is left to do here. */
function finishInService(item: StoredItem, host: StoredHost): RecordStep {
  return record(item, { state: 'done', step: item.doc.step }, { expects: [expectUnchanged(HOST, host)] });
}

function activateHost(item: StoredItem, host: StoredHost, nowMs: number): RecordStep {
  const { readmitted: _, ...doc } = host.doc;
  const active = {
    ...doc,
    state: 'active' as const,
    joinedAtMs: nowMs,
    changedBy: JOINER,
    changedAtMs: nowMs,
  };
  const made = { changes: [put(HOST, host.id, active)], expects: [expectUnchanged(HOST, host)] };
  return record(item, { state: 'done', step: 'activate' }, made);
}

function hostRemovedReason(item: StoredItem): { readonly code: string; readonly host: string } {
  return { code: 'host-gone', host: item.doc.target.id };
}

export const joinSentences: ReasonSentences = {
  'agent-not-joined': ({ host }) =>
    `Host ${formatFact(host)} has no agent yet. Get a join token with "muster hosts join-token ${formatFact(host)}" and start "muster agent" there ("muster agent --simulate" to try it without a machine).`,
  'agent-not-connected': ({ host }) =>
    `The agent of host ${formatFact(host)} is not connected. Check that it runs and reaches this server.`,
  'preflight-failed': ({ host, problems }) =>
    `The agent of host ${formatFact(host)} found: ${formatProblems(problems)}. It checks again by itself.`,
  'host-gone': ({ host }) => `Host ${formatFact(host)} is not in the fleet any more.`,
};
