// POST /api/v1/scale-out: bring new and removed hosts into service, and rebalance services over them on request.
import { Type } from 'typebox';
import { answer, strictObject, refusalAnswer, write } from '../../access/index.ts';
import { idOf } from '../../fleet/index.ts';
import { OPERATION } from '../../operations/index.ts';
import { requesterOf, hostNames, JOIN, specsOf } from './routes.ts';
import { JOIN_DEADLINE_MS } from './join.ts';
import { scaleOut } from './scale-out.ts';

export const scaleOutRoute = write({
  method: 'POST',
  path: '/api/v1/scale-out',
  tag: 'hosts',
  about: 'Bring new and removed hosts into service, all or none, and rebalance services over them on request',
  access: 'operator',
  scope: 'site',
  asksForNames: true,
  body: strictObject({
    ...JOIN,
    rebalance: Type.Optional(Type.Boolean({ description: 'rebalance services once the hosts are active' })),
  }),
  answers: {
    202: {
      about: 'the operation to follow',
      schema: Type.Object({ operation: Type.String(), count: Type.Integer() }),
    },
  },
  handle: ({ body, caller }, { clock, ids }) => {
    const hosts = specsOf(body.hosts, caller);
    if ('code' in hosts) return refusalAnswer(hosts);
    const operation = idOf(OPERATION, ids.next('op'));
    const { reason: why, deadlineMs = JOIN_DEADLINE_MS, rebalance = false } = body;
    const command = { ...requesterOf(caller), nowMs: clock.nowMs(), ...(why !== undefined && { why }) };
    return {
      why: why ?? 'scale out',
      operation,
      creates: hostNames(hosts),
      decide: (fleet) => scaleOut(fleet, { hosts, rebalance, operation, deadlineMs, ...command }),
      answer: () => ({
        ...answer({ operation, count: hosts.length }, 202),
        headers: { location: `/api/v1/operations/${operation}` },
      }),
    };
  },
});
