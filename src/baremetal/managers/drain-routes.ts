// The HTTP surface of giving nodes from one manager to others: drains, their end, and rebalances. No decisions here.
import { Type } from 'typebox';
import { answer, renderCommitted, strictObject, write, type Answer, type Route } from '../../access/index.ts';
import { idOf } from '../../fleet/index.ts';
import { OPERATION } from '../../operations/index.ts';
import { MANAGER_REPRESENTATION } from '../representations.ts';
import { managerId } from './decide.ts';
import { drainManager, undrainManager } from './drain.ts';
import { BY_MANAGER, DRAIN_REQUEST } from './messages.ts';
import { rebalanceManagers } from './rebalance.ts';

const PATH = '/api/v1/managers';
const TAG = 'managers';
const BY_OPERATORS = { tag: TAG, access: 'operator', scope: 'site', params: BY_MANAGER } as const;
const BEGUN = { 202: { about: 'the operation', schema: strictObject({ operation: Type.String() }) } };

function answerBegun(operation: string): Answer {
  return { ...answer({ operation }, 202), headers: { location: `/api/v1/operations/${operation}` } };
}

const drainRoute = write({
  ...BY_OPERATORS,
  method: 'POST',
  path: `${PATH}/:manager/drain`,
  about:
    'Have a manager give its nodes to the others, which acts on no machine; repeated, it answers the same operation',
  body: DRAIN_REQUEST,
  answers: BEGUN,
  handle: ({ params, body, caller }, { clock, ids }) => {
    const command = { operation: idOf(OPERATION, ids.next('op')), by: caller.name, nowMs: clock.nowMs() };
    const { reason: why, deadlineMs } = body;
    return {
      target: { representation: MANAGER_REPRESENTATION, id: managerId(params.manager) },
      why: why ?? `drain manager ${managerId(params.manager)}`,
      operation: command.operation,
      decide: (fleet) => drainManager(fleet, { ...command, manager: params.manager, why, deadlineMs }),
      answer: ({ result }) => answerBegun(result),
    };
  },
});

const undrainRoute = write({
  ...BY_OPERATORS,
  method: 'POST',
  path: `${PATH}/:manager/undrain`,
  about: 'Have a manager take nodes again; those that it has given away stay where they are',
  answers: { 200: { about: 'the manager', schema: MANAGER_REPRESENTATION.schema } },
  handle: ({ params, caller }, { clock }) => {
    const command = { manager: params.manager, by: caller.name, nowMs: clock.nowMs() };
    const id = managerId(params.manager);
    return {
      target: { representation: MANAGER_REPRESENTATION, id },
      why: `undrain manager ${id}`,
      decide: (fleet) => undrainManager(fleet, command),
      answer: ({ after }) => renderCommitted(MANAGER_REPRESENTATION, after, { id }),
    };
  },
});

/** Of the whole fleet: it moves nodes of every site. */
const rebalanceRoute = write({
  method: 'POST',
  path: `${PATH}/rebalance`,
  tag: TAG,
  about:
    'Have managers with more nodes than an even share give the surplus to the others, which acts on no machine; repeated, it answers the same operation',
  access: 'operator',
  body: DRAIN_REQUEST,
  answers: BEGUN,
  handle: ({ body, caller }, { clock, ids }) => {
    const { reason: why, deadlineMs } = body;
    const operation = idOf(OPERATION, ids.next('op'));
    const command = { operation, by: caller.name, why, deadlineMs, nowMs: clock.nowMs() };
    return {
      why: why ?? 'even out the nodes of managers',
      operation,
      decide: (fleet) => rebalanceManagers(fleet, command),
      answer: ({ result }) => answerBegun(result),
    };
  },
});

export const drainRoutes: readonly Route[] = [drainRoute, undrainRoute, rebalanceRoute];
