// The three RPCs: their input in any of the forms that clients send, and their output. They decide exactly as the native
// routes do.
import { Type, type TSchema } from 'typebox';
import type { Refusal } from '../../fleet/index.ts';
import type { HostResult, ScaleInAnswer } from '../../hosts/index.ts';
import { formatFact, type Explain, type ReasonSentences } from '../../operations/index.ts';
import { MODULE, type Rpc } from './library.ts';

const LEAF_OF: Readonly<Record<Rpc, string>> = {
  'scalein-computes-start': 'scalein-node-ids',
  'scalein-computes-end': 'scalein-node-ids',
  'scalein-computes-recover': 'recover-node-ids',
};

const ID_LENGTH_MAX = 200;
/** As many as a native request takes. */
const NODES_MAX = 1000;

/** What a client sends: with the module's prefix, as RFC 7951 has it, or without, as many do. */
export function inputSchema(rpc: Rpc): TSchema {
  const leaf = LEAF_OF[rpc];
  const ids = Type.Array(Type.String({ minLength: 1, maxLength: ID_LENGTH_MAX }), { minItems: 1, maxItems: NODES_MAX });
  const input = eitherName(leaf, ids);
  return eitherName('input', input);
}

function eitherName(name: string, schema: TSchema): TSchema {
  const either = { [`${MODULE}:${name}`]: Type.Optional(schema), [name]: Type.Optional(schema) };
  return Type.Object(either, { additionalProperties: false, minProperties: 1, maxProperties: 1 });
}

/** The nodes of a request, in the order named. The decision ignores duplicates. */
export function readRequestedNodes(body: unknown): readonly string[] {
  const [input] = Object.values(body as Readonly<Record<string, object>>);
  const [ids] = Object.values(input as Readonly<Record<string, readonly string[]>>);
  return ids ?? [];
}

/** Refusals in other words here: these RPCs cannot order a node to leave. */
const SENTENCES: ReasonSentences = {
  'still-connected': ({ host, connection }) => {
    const state = connection === 'suspect' ? 'sent a heartbeat a moment ago and may still be' : 'is still';
    return `Host ${formatFact(host)} ${state} connected. Stop its agent, wait until the host is down, and ask again.`;
  },
};

/** As everywhere, but for what a client of this surface could not do. */
export function withRestconfSentences(explain: Explain): Explain {
  return (reason) => SENTENCES[reason.code]?.(reason, explain) ?? explain(reason);
}

export function outputOf({ operation, hosts }: ScaleInAnswer, explain: Explain): object {
  return {
    [`${MODULE}:output`]: {
      ...(operation !== undefined && { 'operation-id': operation }),
      'host-result': hosts.map((one) => resultOf(one, explain)),
    },
  };
}

function resultOf({ host, name, result, reason, blockers }: HostResult, explain: Explain): object {
  return {
    'node-id': host,
    ...(name !== undefined && { name }),
    result,
    ...(reason !== undefined && { reason: explain(reason) }),
    ...(blockers !== undefined && blockers.length > 0 && { blocker: blockers.map((one) => explain(one)) }),
  };
}

/** For the errors of a refused request: what is said of each host, and the node of the module that named them. */
export function withSentences({ field, ...plain }: Refusal, rpc: Rpc, explain: Explain): Refusal {
  const refusal = field === '/hosts' ? { ...plain, field: `/input/${LEAF_OF[rpc]}` } : plain;
  const hosts = refusal.facts?.['hosts'];
  if (!Array.isArray(hosts)) return refusal;
  const texts = (hosts as HostResult[]).map((one) => {
    // The reason of a host that is blocked is the first of what blocks it.
    const reasons = one.blockers ?? (one.reason === undefined ? [] : [one.reason]);
    return { ...one, ...(reasons.length > 0 && { sentence: reasons.map((reason) => explain(reason)).join(' ') }) };
  });
  return { ...refusal, facts: { ...refusal.facts, hosts: texts } };
}
