// The HTTP surface of scale-in: preview, start, end, recover, status. Hosts are named in any form; each answer has a result for every host
// that was named. No decisions here.
import { Type, type Static, type TProperties } from 'typebox';
import {
  answer,
  strictObject,
  read,
  refusalAnswer,
  write,
  type Answer,
  type Caller,
  type Route,
  type RouteContext,
  type Committed,
} from '../../access/index.ts';
import type { Composition } from '../../composition/index.ts';
import { idOf, valueOf, type Reason, type Refusal, type Steps } from '../../fleet/index.ts';
import { refuse } from '../../journal/index.ts';
import { OPERATION, type Explain, type OperationId } from '../../operations/index.ts';
import type { Evacuator } from '../evacuator.ts';
import { PREVIEW, renderPreview, type RenderContext } from '../preview/representation.ts';
import { planInSlices } from '../preview/plan-slices.ts';
import { planPreviewInSteps } from '../preview/preview.ts';
import { answerFromMemo, memoOf, type HostResult, type ScaleInAnswer } from './answer.ts';
import { scaleInBlockedRoute } from './blocked-routes.ts';
import { SCALE_IN } from './settings.ts';
import { scaleInStatusRoute } from './status-routes.ts';
import {
  endInSlices,
  preparableWrite,
  startInSlices,
  type PreparableDecision,
  type SlicingContext,
} from './prepare.ts';
import { recoverHosts } from './decide.ts';
import type { RemovalImpactComputation } from '../preview/removal-impact.ts';

export interface ScaleInRoutes {
  readonly evacuators: readonly Evacuator[];
  readonly touchedBy: RemovalImpactComputation;
  readonly explain: Explain;
  readonly scopes: Pick<Composition, 'scopeOf'>;
}

const PATH = '/api/v1/scale-in';
/** A batch is decided in one go, which holds up every other decision. */
const HOSTS_AT_ONCE_MAX = 1000;
const DEADLINE_MAX_MS = 30 * 24 * 3600 * 1000;
const SHOWN_DEFAULT = 1000;
const SHOWN_MAX = 10_000;

const HOSTS = Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
  minItems: 1,
  maxItems: HOSTS_AT_ONCE_MAX,
  description: 'in any form: name, topology id, datapath id, openflow:<number>, system id',
});
const REASON = Type.String({ minLength: 1, maxLength: 500 });
const WHY = Type.Optional(REASON);

const Reason = Type.Object({ code: Type.String() }, { additionalProperties: true });

const ANSWER = Type.Object({
  operation: Type.Optional(Type.String({ description: 'the operation to follow, if all hosts have one in common' })),
  hosts: Type.Array(
    Type.Object({
      host: Type.String({ description: 'as it was named' }),
      name: Type.Optional(Type.String({ description: 'if it was named by another id' })),
      result: Type.Enum(['accepted', 'unchanged', 'unknown', 'wrong-state', 'blocked']),
      operation: Type.Optional(Type.String({ description: 'if it is another one' })),
      reason: Type.Optional(Reason),
      sentence: Type.Optional(Type.String()),
      blockers: Type.Optional(
        Type.Array(Type.Object({ code: Type.String(), sentence: Type.String() }, { additionalProperties: true })),
      ),
    }),
  ),
});

export function scaleInRoutes(options: ScaleInRoutes): Route[] {
  return [
    scaleInStatusRoute(options),
    scaleInBlockedRoute(options),
    previewRoute(options),
    verbRoute(options, {
      verb: 'start',
      about: 'Take hosts out of service: tombstone all of them, or none, and move everything off them',
      fields: {
        drain: Type.Optional(
          Type.Boolean({ description: 'false: instances are moved by other means; true by default' }),
        ),
        plan: Type.Optional(
          Type.String({ maxLength: 100, description: 'the plan of a preview: refused if it has changed by then' }),
        ),
        deadlineMs: Type.Optional(Type.Integer({ minimum: 60_000, maximum: DEADLINE_MAX_MS })),
      },
      decisionOf: ({ body: { drain = true, plan, deadlineMs }, request, hash }, slicing) =>
        startInSlices(slicing, (fleet) => ({
          ...request,
          drain,
          ...(plan !== undefined && { plan: { plan, hash } }),
          deadlineMs: deadlineMs ?? valueOf(fleet, SCALE_IN).drainDeadlineMs,
        })),
    }),
    verbRoute(options, {
      verb: 'end',
      about: 'Remove hosts that are proven empty and disconnected, each decided on its own',
      fields: {
        disconnect: Type.Optional(Type.Boolean({ description: 'order a connected host to leave first' })),
        force: Type.Optional(strictObject({ reason: REASON })),
      },
      decisionOf: ({ body: { disconnect = false, force }, request }, slicing) =>
        endInSlices(slicing, () => ({ ...request, disconnect, ...(force !== undefined && { force }) })),
    }),
    verbRoute(options, {
      verb: 'recover',
      about: 'Bring back hosts that are leaving, each decided on its own',
      fields: { failBack: Type.Optional(Type.Boolean({ description: 'services that left them come back too' })) },
      decisionOf: ({ body: { failBack = false }, request }) => ({
        decide: (fleet) => recoverHosts(fleet, { ...request, failBack }),
      }),
    }),
  ];
}

function previewRoute({ evacuators, touchedBy, explain }: ScaleInRoutes): Route {
  return read({
    method: 'POST',
    path: `${PATH}/preview`,
    tag: 'scale-in',
    about: 'Show what a scale-in of hosts would do; nothing is changed',
    plansOnFleet: true,
    access: 'viewer',
    scope: 'site',
    onFollower: 'forward',
    body: strictObject({
      hosts: HOSTS,
      limit: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: SHOWN_MAX,
          description: `entries of each list; ${SHOWN_DEFAULT} by default`,
        }),
      ),
    }),
    answers: { 200: { about: 'the plan', schema: PREVIEW } },
    // Planned in the decider, where a start would be, on current state, and not committed.
    handle: async ({ body: { hosts, limit = SHOWN_DEFAULT }, caller, authority }, world) => {
      const { clock, hash } = world;
      const nowMs = clock.nowMs();
      const made = await planInSlices(world, authority, function* shownSteps(slices): Steps<object | Refusal> {
        const { fleet } = slices;
        const budgets = valueOf(fleet, SCALE_IN);
        const request = { hosts, site: caller.site, nowMs, hash, budgets, explained: limit };
        const preview = yield* planPreviewInSteps(slices, evacuators, request);
        const sight = world.redactorFor(caller, fleet);
        if ('code' in preview) return renderRefusal(preview, { explain, sight });
        const leavers = preview.hosts.map(({ host }) => host);
        const touched = yield* touchedBy(fleet, leavers, sight === undefined ? limit : SHOWN_MAX);
        return renderPreview(preview, { caller, sight, explain, limit, touched });
      });
      if ('code' in made) return refusalAnswer(made);
      return 'code' in made.plan ? refusalAnswer(made.plan) : answer({ ...made.plan, revisions: made.revisions });
    },
  });
}

interface ScaleInRequest {
  readonly hosts: readonly string[];
  readonly site: string | undefined;
  readonly operation: OperationId;
  readonly by: string;
  readonly why?: string;
  readonly nowMs: number;
}

interface VerbRoute<F extends TProperties> {
  readonly verb: 'start' | 'end' | 'recover';
  readonly about: string;
  readonly fields: F;
  readonly decisionOf: (
    input: {
      readonly body: Static<ReturnType<typeof strictObject<F>>>;
      readonly request: ScaleInRequest;
      readonly hash: RouteContext['hash'];
    },
    slicing: SlicingContext,
  ) => PreparableDecision;
}

function verbRoute<F extends TProperties>(
  { explain, evacuators }: ScaleInRoutes,
  { verb, about, fields, decisionOf }: VerbRoute<F>,
): Route {
  return write({
    method: 'POST',
    path: `${PATH}/${verb}`,
    tag: 'scale-in',
    about,
    access: 'operator',
    scope: 'site',
    body: strictObject({ hosts: HOSTS, reason: WHY, ...fields }),
    answers: {
      200: { about: 'nothing to do: a result for each host', schema: ANSWER },
      202: { about: 'the operation to follow, and a result for each host', schema: ANSWER },
    },
    handle: ({ body, caller, authority }, world) => {
      const { clock, ids, hash, redactorFor } = world;
      const { hosts, reason: why } = body as unknown as { readonly hosts: readonly string[]; readonly reason?: string };
      const operation = idOf(OPERATION, ids.next('op'));
      const request = {
        hosts,
        operation,
        ...requesterFields(caller),
        nowMs: clock.nowMs(),
        ...(why !== undefined && { why }),
      };
      const input = { body: body as unknown as Static<ReturnType<typeof strictObject<F>>>, request, hash };
      return preparableWrite(decisionOf(input, { world, authority, evacuators }), (decide) => ({
        why: why ?? `scale-in ${verb}`,
        operation,
        decide: (fleet) => {
          const decision = decide(fleet);
          return decision.kind === 'refuse'
            ? refuse(renderRefusal(decision.refusal, { explain, sight: redactorFor(caller, fleet) }))
            : decision;
        },
        answer: ({ result: made, after: { redactor } }: Committed<ScaleInAnswer>) => {
          const memo = memoOf(made, operation);
          const rendered = renderAnswer(made, operation, { explain, sight: redactor });
          return memo === undefined ? rendered : { ...rendered, memo };
        },
        recompose: ({ memo, operation: started, redactor }) =>
          renderAnswer(answerFromMemo(memo, hosts, started), started, { explain, sight: redactor }),
      }));
    },
  });
}

function requesterFields({ name, site }: Caller): Pick<ScaleInRequest, 'by' | 'site'> {
  return { by: name, site };
}

function renderAnswer(made: ScaleInAnswer, started: string | undefined, context: RenderContext): Answer {
  const { operation } = made;
  const body = {
    ...(operation !== undefined && { operation }),
    hosts: made.hosts.map((one) => renderResult(one, context, operation)),
  };
  const shown = answer(body, operation === started ? 202 : 200);
  return operation === undefined ? shown : { ...shown, headers: { location: `/api/v1/operations/${operation}` } };
}

/** Without what the answer says elsewhere: it is stored for a repeated request only if it is small. */
function renderResult(
  { name, operation, blockers, reason, ...one }: HostResult,
  { explain, sight }: RenderContext,
  shared?: string,
): object {
  // An unknown name comes from the caller: the answer is the same whether another site has it or not.
  const redact = (of: Reason): Reason => (one.result === 'unknown' ? of : (sight?.redactReason(of) ?? of));
  const why = reason === undefined ? undefined : redact(reason);
  return {
    ...one,
    ...(name !== undefined && name !== one.host && { name }),
    ...(operation !== undefined && operation !== shared && { operation }),
    ...(why !== undefined && { reason: why, sentence: explain(why) }),
    ...(blockers !== undefined && {
      blockers: blockers.map(redact).map((blocker) => ({ ...blocker, sentence: explain(blocker) })),
    }),
  };
}

/** A refusal with a sentence for every host in it. */
function renderRefusal(refusal: Refusal, context: RenderContext): Refusal {
  const hosts = refusal.facts?.['hosts'] as readonly HostResult[] | undefined;
  if (hosts === undefined) return refusal;
  return { ...refusal, facts: { ...refusal.facts, hosts: hosts.map((one) => renderResult(one, context)) } };
}
