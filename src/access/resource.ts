// The routes that most resources have, made from a description of the resource: list them, show one, create, edit and delete
// one. A resource that needs another of them than this writes that one out.
import type { Static, TObject, TString } from 'typebox';
import type { AnyDoc, FleetReader } from '../fleet/index.ts';
import type { Decision } from '../journal/index.ts';
import { readResource, renderCommitted, documentRef } from './answer.ts';
import { listAnswer, listQuery, listResources, scansFleet, type Listing } from './list.ts';
import { permits, type Access } from './role.ts';
import { BY_ID, read, write, type Call, type Route, type RouteFields, type RouteContext } from './route.ts';
import type { StoredDocument, Representation } from './representation.ts';

export interface Resource<K extends string = string, D extends AnyDoc = AnyDoc> {
  readonly path: string;
  /** For sentences, in the plural and in the singular. */
  readonly plural: string;
  readonly singular: string;
  /** The plural unless said. */
  readonly tag?: string;
  readonly representation: Representation<K, D>;
}

type ResourcePath = Pick<Resource, 'path' | 'plural' | 'tag'>;

interface ReadRouteOptions {
  readonly about?: string;
  readonly access?: Access;
  /** `site` when a site-bound caller sees some of them. */
  readonly scope?: 'fleet' | 'site';
  /** When projects see their own of them. */
  readonly forProjects?: true;
}

interface ListRouteOptions<K extends string, D extends AnyDoc> extends ReadRouteOptions {
  readonly listing: Listing<K, D>;
  /** Of one, when it shows more than its document. */
  readonly schema?: TObject;
}

export function listRoute<K extends string, D extends AnyDoc>(of: ResourcePath, listed: ListRouteOptions<K, D>): Route {
  const { path, plural, tag = plural } = of;
  const {
    listing,
    about = `List ${plural}`,
    access = 'viewer',
    scope = 'fleet',
    schema = listing.representation.schema,
  } = listed;
  const { forProjects } = listed;
  return read({
    method: 'GET',
    path,
    tag,
    about,
    access,
    scope,
    ...(forProjects && { forProjects }),
    query: listQuery(listing),
    scansFleet: (call) => scansFleet(listing, call),
    answers: { 200: { about: `a page of ${plural}`, schema: listAnswer(schema) } },
    handle: (call, { journal, redactorFor }) =>
      listResources(journal.fleet, listing, call, redactorFor(call.caller, journal.fleet)),
  });
}

export function showRoute<K extends string, D extends AnyDoc>(
  of: Resource<K, D>,
  reading: ReadRouteOptions = {},
): Route {
  const { representation, singular } = of;
  const { about = `Show a ${singular}`, access = 'viewer', scope = 'fleet', forProjects } = reading;
  return read({
    ...itemRouteFields(of),
    method: 'GET',
    about,
    access,
    scope,
    ...(forProjects && { forProjects }),
    answers: { 200: { about: `the ${singular}`, schema: representation.schema } },
    handle: (call, { journal, redactorFor }) =>
      readResource(journal.fleet, representation, call, redactorFor(call.caller, journal.fleet)),
  });
}

/** Both of them. */
export function readRoutes<K extends string, D extends AnyDoc>(
  of: Resource<K, D>,
  { listing, ...reading }: Omit<ReadRouteOptions, 'about'> & { readonly listing: Listing<K, D> },
): Route[] {
  return [listRoute(of, { listing, ...reading }), showRoute(of, reading)];
}

/** Who requests a change, and when. */
interface CommandContext {
  readonly by: string;
  readonly nowMs: number;
  readonly admin: boolean;
  /** The site that the caller is bound to: what is elsewhere is not named to it. */
  readonly callerSite: string | undefined;
}

function commandContextOf({ caller }: Call, { clock }: RouteContext): CommandContext {
  return { by: caller.name, nowMs: clock.nowMs(), admin: permits(caller, 'admin'), callerSite: caller.site };
}

interface WriteRouteOptions extends Pick<RouteFields, 'about' | 'access' | 'scope' | 'forProjects' | 'asksForNames'> {
  readonly access: 'operator' | 'admin';
}

interface CreateRouteOptions<B extends TObject> extends WriteRouteOptions {
  readonly body: B;
  readonly decide: (fleet: FleetReader, body: Static<B>, context: CommandContext) => Decision<unknown>;
}

/** For resources whose name is their id. */
export function createRoute<D extends AnyDoc, B extends TObject<{ name: TString }>>(
  of: Resource<string, D>,
  { body: schema, decide, ...face }: CreateRouteOptions<B>,
): Route {
  const { path, plural, tag = plural, singular, representation } = of;
  return write({
    ...face,
    method: 'POST',
    path,
    tag,
    body: schema,
    asksForNames: true,
    answers: { 201: { about: `the ${singular}`, schema: representation.schema } },
    handle: (call, world) => {
      const context = commandContextOf(call, world);
      const { name } = call.body as { readonly name: string };
      return {
        creates: { representation, names: [name], fieldOf: () => '/name' },
        why: `create ${singular} ${name}`,
        decide: (fleet) => decide(fleet, call.body, context),
        answer: ({ after }) =>
          renderCommitted(representation, after, { id: name, status: 201, location: `${path}/${name}` }),
      };
    },
  });
}

interface EditRouteOptions<B extends TObject> extends WriteRouteOptions {
  readonly body: B;
  readonly decide: (
    fleet: FleetReader,
    command: { readonly id: string; readonly edit: Static<B> },
    context: CommandContext,
  ) => Decision<unknown>;
}

export function editRoute<D extends AnyDoc, B extends TObject>(
  of: Resource<string, D>,
  { body: schema, decide, ...face }: EditRouteOptions<B>,
): Route {
  const { singular, representation } = of;
  return write({
    ...itemRouteFields(of),
    ...face,
    method: 'PATCH',
    body: schema,
    answers: { 200: { about: `the ${singular}`, schema: representation.schema } },
    handle: (call, world) => {
      const context = commandContextOf(call, world);
      const { params, body } = call;
      return {
        target: { representation, id: params.id },
        why: `edit ${Object.keys(body).join(', ')}`,
        decide: (fleet) => decide(fleet, { id: params.id, edit: body }, context),
        answer: ({ after }) => renderCommitted(representation, after, params),
      };
    },
  });
}

interface DeleteRouteOptions<D extends AnyDoc> extends WriteRouteOptions {
  readonly decide: (fleet: FleetReader, command: { readonly id: string }) => Decision<StoredDocument<D>>;
}

/** Answers what is gone as it was. */
export function deleteRoute<D extends AnyDoc>(
  of: Resource<string, D>,
  { decide, ...face }: DeleteRouteOptions<D>,
): Route {
  const { singular, representation } = of;
  return write({
    ...itemRouteFields(of),
    ...face,
    method: 'DELETE',
    answers: { 200: { about: `the ${singular} as it was`, schema: representation.schema } },
    handle: ({ params }) => ({
      target: { representation, id: params.id },
      why: `delete ${singular} ${params.id}`,
      decide: (fleet) => decide(fleet, params),
      answer: ({ result: stored, after: { redactor } }) => ({
        kind: 'answer',
        status: 200,
        text: representation.toJsonText(stored, redactor),
        shown: documentRef(representation, stored),
      }),
    }),
  });
}

function itemRouteFields({ path, plural, tag = plural }: ResourcePath) {
  return { path: `${path}/:id`, tag, params: BY_ID };
}
