// The operation `host-join`: a registered host comes into service when its agent was heard and has looked over its
// machine. Until then it waits, and says for what.
import { revokedToken, TOKEN, tokensOfHost } from '../access/index.ts';
import { put, type Change } from '../fleet/index.ts';
import {
  expecting,
  fail,
  newOperation,
  OPEN_ITEMS_BY_TARGET,
  record,
  wait,
  type Next,
  type OperationId,
  type OperationKind,
  type ReasonSentences,
  type RecordStep,
  type StoredItem,
  said,
  saidProblems,
  targetKey,
} from '../operations/index.ts';
import { findHost, type StoredHost } from './decide.ts';
import { HOST } from './model.ts';
import { givenUp, isToBeFinalized } from './re-admit.ts';
import { END_DEADLINE_MS, END_KIND, finalizing } from './scale-in-work.ts';

/** An agent that found its machine wanting is asked again after this time. */
const PREFLIGHT_AGAIN_MS = 30_000;

const JOINER = 'operation:host-join';

export const JOIN_DEADLINE_MS = 3600 * 1000;

export const hostJoin: OperationKind = {
  name: 'host-join',
  steps: ['await-agent', 'preflight', 'activate'],
  cancel: {
    kind: 'does',
    what: 'hosts that have not come into service are forgotten, or removed if peers may know them; the others stay',
  },
  retry: { kind: 'does', what: 'hosts that did not come in time are waited for again' },
  rollback: { kind: 'none', because: 'a host in service leaves it by scale-in, not by undoing its join' },

  plan: (fleet, _operation, items, nowMs) =>
    items.flatMap((item) => {
      const host = findHost(fleet, item.doc.target.id);
      return host === undefined ? [fail(item, gone(item))] : nextStep(item, host, nowMs);
    }),

  undo: (fleet, item, nowMs) => {
    const host = findHost(fleet, item.doc.target.id);
    // A later join of the same host has it now: it is not this one's to forget.
    const others = fleet.countOf(OPEN_ITEMS_BY_TARGET, targetKey(HOST.name, item.doc.target.id)) > 1;
    if (host?.doc.state !== 'joining' || others) return { changes: [], expects: [] };
    const tokens = tokensOfHost(fleet, host.id);
    return {
      changes: [
        ...ended(host, `end-${item.id}.${nowMs}` as OperationId, nowMs),
        ...tokens.map((token) => revokedToken(token, JOINER, nowMs)),
      ],
      expects: [expecting(HOST, host), ...tokens.map((token) => expecting(TOKEN, token))],
    };
  },

  task: (_fleet, item) =>
    item.doc.step === 'preflight' && item.doc.state === 'running' ? { kind: 'preflight', args: {} } : undefined,

  answered: (_fleet, item, answer, nowMs): RecordStep => {
    if (answer.outcome === 'done') return record(item, { state: 'running', step: 'activate' });
    const reason = { code: 'preflight-failed', host: item.doc.target.id, problems: answer.problems ?? [] };
    return wait(item, reason, nowMs + PREFLIGHT_AGAIN_MS);
  },
};

/** It is forgotten, or leaves as others do where somebody may have a tunnel to it. */
function ended(host: StoredHost, operation: OperationId, nowMs: number): Change[] {
  const change = givenUp(host, operation, { by: JOINER, nowMs });
  if (!isToBeFinalized(host.doc)) return [change];
  const title = `remove host ${host.id}, whose join was given up`;
  const { site } = host.doc;
  const items = [finalizing(host.id)];
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

function nextStep(item: StoredItem, host: StoredHost, nowMs: number): readonly Next[] {
  const { step, state, attempt, retryAtMs } = item.doc;
  if (host.doc.state !== 'joining') return [inService(item, host)];
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
      return [activated(item, host, nowMs)];
    default:
      throw new Error(`host-join has no step "${step}"`);
  }
}

function agentMissing(host: StoredHost): { readonly code: string; readonly host: string } | undefined {
  if (host.doc.credential === undefined) return { code: 'agent-not-joined', host: host.id };
  if (host.doc.connection.state !== 'up') return { code: 'agent-not-heard', host: host.id };
  return undefined;
}

/** The host is in service, or on its way out again: there is nothing left to do here. */
function inService(item: StoredItem, host: StoredHost): RecordStep {
  return record(item, { state: 'done', step: item.doc.step }, { expects: [expecting(HOST, host)] });
}

function activated(item: StoredItem, host: StoredHost, nowMs: number): RecordStep {
  const { readmitted: _, ...doc } = host.doc;
  const active = {
    ...doc,
    state: 'active' as const,
    joinedAtMs: nowMs,
    changedBy: JOINER,
    changedAtMs: nowMs,
  };
  const made = { changes: [put(HOST, host.id, active)], expects: [expecting(HOST, host)] };
  return record(item, { state: 'done', step: 'activate' }, made);
}

function gone(item: StoredItem): { readonly code: string; readonly host: string } {
  return { code: 'host-gone', host: item.doc.target.id };
}

export const joinSentences: ReasonSentences = {
  'agent-not-joined': ({ host }) =>
    `Host ${said(host)} has no agent yet. Get a join token with "muster hosts join-token ${said(host)}" and start "muster agent" there ("muster agent --simulate" to try it without a machine).`,
  'agent-not-heard': ({ host }) =>
    `The agent of host ${said(host)} is not heard. Check that it runs and reaches this server.`,
  'preflight-failed': ({ host, problems }) =>
    `The agent of host ${said(host)} found: ${saidProblems(problems)}. It looks again by itself.`,
  'host-gone': ({ host }) => `Host ${said(host)} is not in the fleet any more.`,
};
