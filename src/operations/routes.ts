// The HTTP surface of operations and their items. The counts of a running operation are computed on each request.
import { Type } from 'typebox';
import {
  BY_ID,
  strictObject,
  HOST_MARK,
  HOST_REF,
  ID,
  listAnswer,
  listQuery,
  listResources,
  listRoute,
  noSuch,
  read,
  refusalAnswer,
  renderCommitted,
  scansFleet,
  findVisible,
  defineRepresentation,
  write,
  type Answer,
  type FilterField,
  type HostMark,
  type Listing,
  type Route,
  type Redactor,
  type Representation,
} from '../access/index.ts';
import { idOf, type FleetReader } from '../fleet/index.ts';
import type { Decision } from '../journal/index.ts';
import { cancelOperation, retryOperation, type OperationCommand } from './decide.ts';
import type { OperationKind, StoredOperation } from './kind.ts';
import {
  countsOf,
  isOpen,
  ITEM,
  ITEM_STATES,
  ITEMS_BY_OPERATION,
  OPEN_ITEMS_BY_TARGET,
  OPERATION,
  OPERATION_STATES,
  targetKey,
  type ItemCounts,
  type Item,
  type Operation,
} from './model.ts';
import type { Explain } from './reason.ts';

const COUNTS = Type.Object(Object.fromEntries(ITEM_STATES.map((state) => [state, Type.Integer()])));
const Reason = Type.Object({ code: Type.String() });
const Sentence = Type.Optional(Type.String({ description: 'the reason, for a person' }));

export interface OperationRepresentations {
  readonly operation: Representation<'operation', Operation>;
  readonly item: Representation<'item', Item>;
}

function redactOperation(doc: Operation, sight: Redactor): Operation {
  const { title, site, within, why, by, reason } = doc;
  return {
    ...doc,
    title: sight.redactTextBy(title, by),
    ...(site !== undefined && { site: sight.redactText(site) }),
    ...(within !== undefined && { within: sight.redactText(within) }),
    ...(why !== undefined && { why: sight.redactTextBy(why, by) }),
    ...(reason !== undefined && { reason: sight.redactReason(reason) }),
  };
}

function redactItem({ host, assignee, reason, ...rest }: Item, sight: Redactor): Item {
  return {
    ...rest,
    ...(host !== undefined && { host: sight.redactText(host) }),
    ...(assignee !== undefined && { assignee: sight.redactText(assignee) }),
    ...(reason !== undefined && { reason: sight.redactReason(reason) }),
  };
}

export function operationRepresentations(explain: Explain): OperationRepresentations {
  const operation = defineRepresentation<'operation', Operation>({
    kind: OPERATION,
    siteOf: (doc) => doc.site,
    projectOf: (doc) => doc.project,
    redact: redactOperation,
    toJson: (doc) => (doc.reason === undefined ? doc : { ...doc, sentence: explain(doc.reason) }),
    fields: {
      kind: Type.String(),
      title: Type.String(),
      state: Type.Enum(OPERATION_STATES),
      by: Type.String(),
      why: Type.Optional(Type.String()),
      site: Type.Optional(Type.String()),
      project: Type.Optional(Type.String()),
      within: Type.Optional(Type.String({ description: 'what it moves stays inside this site' })),
      createdAtMs: Type.Integer(),
      deadlineMs: Type.Integer(),
      deadlineAtMs: Type.Integer(),
      finishedAtMs: Type.Optional(Type.Integer()),
      counts: COUNTS,
      reason: Type.Optional(Reason),
      sentence: Sentence,
      stopped: Type.Optional(Type.Boolean()),
    },
  });
  return { operation, item: itemRepresentation(explain) };
}

function itemRepresentation(explain: Explain): Representation<'item', Item> {
  return defineRepresentation<'item', Item>({
    kind: ITEM,
    siteOf: (doc, fleet) => fleet.get(OPERATION, idOf(OPERATION, doc.operation))?.doc.site,
    projectOf: (doc, fleet) => fleet.get(OPERATION, idOf(OPERATION, doc.operation))?.doc.project,
    redact: redactItem,
    // Which drain moves it is for budgets alone; the host is in the drain's own operation.
    toJson: ({ drainedHost: _, ...doc }) =>
      doc.reason === undefined ? doc : { ...doc, sentence: explain(doc.reason) },
    fields: {
      operation: Type.String(),
      target: Type.Object({ kind: Type.String(), id: Type.String() }),
      host: Type.Optional(Type.String()),
      assignee: Type.Optional(Type.String({ description: 'who else than an agent has its task: a manager' })),
      step: Type.String(),
      state: Type.Enum(ITEM_STATES),
      reason: Type.Optional(Reason),
      sentence: Sentence,
      attempt: Type.Integer(),
      sinceMs: Type.Integer(),
      retryAtMs: Type.Optional(Type.Integer()),
    },
  });
}

export interface OperationRoutes {
  readonly representations: OperationRepresentations;
  readonly kinds: ReadonlyMap<string, OperationKind>;
}

export function operationRoutes({ representations, kinds }: OperationRoutes): Route[] {
  return [
    listOperations(representations),
    getOperation(representations),
    listItemsOf(representations),
    listItems(representations),
    command(
      { representations, kinds },
      { verb: 'cancel', about: 'Cancel an operation: what it means depends on its kind', decide: cancelOperation },
    ),
    command(
      { representations, kinds },
      { verb: 'retry', about: 'Try the failed items of an operation again', decide: retryOperation },
    ),
  ];
}

/** The operation with its counters: kept in it once it has ended, counted while it runs. */
function renderWithCounts(
  representation: Representation<'operation', Operation>,
  stored: StoredOperation,
  { fleet, sight }: { readonly fleet: FleetReader; readonly sight: Redactor | undefined },
): string {
  const text = representation.toJsonText(stored, sight);
  if (stored.doc.counts !== undefined) return text;
  return addCounts(text, countsOf(fleet, stored.id));
}

function addCounts(text: string, counts: ItemCounts): string {
  return `${text.slice(0, -1)},"counts":${JSON.stringify(counts)}}`;
}

function listOperations({ operation: representation }: OperationRepresentations): Route {
  const listing: Listing<'operation', Operation> = {
    representation,
    filters: {
      state: { schema: Type.Enum(OPERATION_STATES), valuesOf: (doc) => [doc.state] },
      kind: { schema: ID, valuesOf: (doc) => [doc.kind] },
      site: { schema: ID, valuesOf: (doc) => [doc.site] },
      by: {
        schema: Type.String({ maxLength: 200 }),
        valuesOf: (doc) => [doc.by],
        redactedValuesOf: (doc, sight) => [sight.redactAuthor(doc.by)],
      },
    },
    sorts: { createdAtMs: (doc) => doc.createdAtMs, kind: (doc) => doc.kind, state: (doc) => doc.state },
    text: (stored, fleet, sight) => renderWithCounts(representation, stored, { fleet, sight }),
  };
  return listRoute({ path: '/api/v1/operations', plural: 'operations' }, { listing, scope: 'site', forProjects: true });
}

function getOperation({ operation: representation }: OperationRepresentations): Route {
  return read({
    method: 'GET',
    path: '/api/v1/operations/:id',
    tag: 'operations',
    about: 'Show an operation with its counters',
    access: 'viewer',
    scope: 'site',
    forProjects: true,
    params: BY_ID,
    answers: { 200: { about: 'the operation', schema: representation.schema } },
    handle: ({ params, caller }, { journal: { fleet }, redactorFor }) => {
      const stored = findVisible(fleet, representation, { caller, id: params.id });
      if (stored === undefined) return refusalAnswer(noSuch('operation', params.id, caller));
      const text = renderWithCounts(representation, stored, { fleet, sight: redactorFor(caller, fleet) });
      return { kind: 'answer', status: 200, text, etag: stored.revision };
    },
  });
}

function itemListing({ item: representation }: OperationRepresentations): Listing<'item', Item> {
  return {
    representation,
    filters: {
      state: { schema: Type.Enum(ITEM_STATES), valuesOf: (doc) => [doc.state] },
      host: { schema: HOST_REF, valuesOf: (doc) => [doc.host], names: 'host' },
      operation: { schema: ID, valuesOf: (doc) => [doc.operation], index: ITEMS_BY_OPERATION },
    },
    sorts: { state: (doc) => doc.state, sinceMs: (doc) => doc.sinceMs },
  };
}

/** Open items only, as their index holds no others: the filter is for work in progress. */
const BY_TARGET: FilterField<Item> = {
  schema: Type.String({
    maxLength: 300,
    pattern: '^[^/]+/.+$',
    'x-form': 'a resource, as kind/id',
    [HOST_MARK]: 'kind/id' satisfies HostMark,
    description: 'only open items that work on this resource, such as host/compute-1',
  }),
  valuesOf: (doc) => (isOpen(doc) ? [targetKey(doc.target.kind, doc.target.id)] : []),
  index: OPEN_ITEMS_BY_TARGET,
};

function listItems(representations: OperationRepresentations): Route {
  const { filters, ...rest } = itemListing(representations);
  const listing: Listing<'item', Item> = { ...rest, filters: { ...filters, target: BY_TARGET } };
  const about = 'List the items of all operations, such as what is under way for one resource';
  const items = { path: '/api/v1/operation-items', plural: 'items', tag: 'operations' };
  return listRoute(items, { listing, about, scope: 'site', forProjects: true });
}

function listItemsOf(representations: OperationRepresentations): Route {
  const listing = itemListing(representations);
  const { operation: _, ...query } = listQuery(listing).properties;
  return read({
    method: 'GET',
    path: '/api/v1/operations/:id/items',
    tag: 'operations',
    about: 'List the items of an operation, with why they wait or failed',
    access: 'viewer',
    scope: 'site',
    forProjects: true,
    params: BY_ID,
    query: strictObject(query),
    // The items of one operation are found by its index; other filters are applied to those.
    scansFleet: ({ query: request, caller }) =>
      scansFleet(listing, { query: { ...(request as object), operation: 'one' }, caller }),
    answers: { 200: { about: 'a page of items', schema: listAnswer(representations.item.schema) } },
    handle: (call, { journal, redactorFor }) => {
      const { id } = call.params;
      if (findVisible(journal.fleet, representations.operation, { caller: call.caller, id }) === undefined)
        return refusalAnswer(noSuch('operation', id, call.caller));
      const scoped = { ...call, query: { ...call.query, operation: id } };
      return listResources(journal.fleet, listing, scoped, redactorFor(call.caller, journal.fleet));
    },
  });
}

interface OperationCommandRoute {
  readonly verb: string;
  readonly about: string;
  readonly decide: (fleet: FleetReader, command: OperationCommand) => Decision<StoredOperation>;
}

function command({ representations, kinds }: OperationRoutes, { verb, about, decide }: OperationCommandRoute): Route {
  return write({
    method: 'POST',
    path: `/api/v1/operations/:id/${verb}`,
    tag: 'operations',
    about,
    access: 'operator',
    scope: 'site',
    params: BY_ID,
    body: strictObject({ reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })) }),
    answers: { 200: { about: 'the operation', schema: representations.operation.schema } },
    handle: ({ params, body, caller: { site } }, { clock }) => {
      const nowMs = clock.nowMs();
      const { operation: representation } = representations;
      return {
        target: { representation, id: params.id },
        why: body.reason ?? verb,
        operation: params.id,
        decide: (fleet) => countItems(fleet, decide(fleet, { id: params.id, kinds, nowMs, site })),
        answer: ({ result: counts, after }) => {
          const rendered = renderCommitted(representation, after, params);
          const stored = after.get(OPERATION, idOf(OPERATION, params.id));
          return stored?.doc.counts === undefined ? withCounts(rendered, counts) : rendered;
        },
        recompose: ({ memo, shown, redactor }) => {
          const text = shown === undefined ? '' : representation.toJsonText(shown as StoredOperation, redactor);
          return withCounts({ kind: 'answer', status: 200, text, etag: shown?.revision ?? 0 }, countsIn(memo));
        },
      };
    },
  });
}

/** Of a running operation: its document has no counts. With a key the counts are all that is kept beside the revision. */
function withCounts(shown: Answer, counts: ItemCounts): Answer {
  const memo = ITEM_STATES.map((state) => counts[state]).join();
  return { ...shown, text: addCounts(shown.text ?? '', counts), memo };
}

function countsIn(memo: string): ItemCounts {
  const counts = memo.split(',').map(Number);
  return Object.fromEntries(ITEM_STATES.map((state, at) => [state, counts[at] ?? 0])) as ItemCounts;
}

/** The same decision; it answers how many items will be in which state. */
function countItems(fleet: FleetReader, decision: Decision<StoredOperation>): Decision<ItemCounts> {
  if (decision.kind === 'refuse') return decision;
  const counts = { ...countsOf(fleet, decision.answer.id) };
  for (const { kind, id, doc } of decision.changes) {
    const before = kind === ITEM.name ? fleet.get(ITEM, idOf(ITEM, id)) : undefined;
    if (before === undefined || doc === null) continue;
    counts[before.doc.state] -= 1;
    counts[(doc as Item).state] += 1;
  }
  return { ...decision, answer: counts };
}
