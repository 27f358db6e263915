// The routes that most resources have, made from a description of the resource: list them, show one, create, edit and delete
// one. A resource that needs another of them than this writes that one out.
import type { Static, TObject, TString } from 'typebox';
import type { AnyDoc, FleetReader } from '../fleet/index.ts';
import type { Decision } from '../journal/index.ts';
import { readResource, resourceAfter, shownBy } from './answer.ts';
import { listAnswer, listQuery, listResources, scansFleet, type Listing } from './list.ts';
import { permits, type Access } from './role.ts';
import { BY_ID, read, write, type Call, type Route, type RouteFace, type World } from './route.ts';
import type { Shown, View } from './view.ts';

export interface Resource<K extends string = string, D extends AnyDoc = AnyDoc> {
  readonly path: string;
  /** For sentences, in the plural and in the singular. */
  readonly what: string;
  readonly one: string;
  /** The plural unless said. */
  readonly tag?: string;
  readonly view: View<K, D>;
}

type Named = Pick<Resource, 'path' | 'what' | 'tag'>;

interface Reading {
  readonly about?: string;
  readonly access?: Access;
  /** `site` when a site-bound caller sees some of them. */
  readonly scope?: 'fleet' | 'site';
  /** When projects see their own of them. */
  readonly forProjects?: true;
}

interface Listed<K extends string, D extends AnyDoc> extends Reading {
  readonly listing: Listing<K, D>;
  /** Of one, when it shows more than its document. */
  readonly schema?: TObject;
}

export function listRoute<K extends string, D extends AnyDoc>(of: Named, listed: Listed<K, D>): Route {
  const { path, what, tag = what } = of;
  const { listing, about = `List ${what}`, access = 'viewer', scope = 'fleet', schema = listing.view.schema } = listed;
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
    answers: { 200: { about: `a page of ${what}`, schema: listAnswer(schema) } },
    handle: (call, { journal, sightOf }) =>
      listResources(journal.fleet, listing, call, sightOf(call.caller, journal.fleet)),
  });
}

export function showRoute<K extends string, D extends AnyDoc>(of: Resource<K, D>, reading: Reading = {}): Route {
  const { view, one } = of;
  const { about = `Show a ${one}`, access = 'viewer', scope = 'fleet', forProjects } = reading;
  return read({
    ...faceOfOne(of),
    method: 'GET',
    about,
    access,
    scope,
    ...(forProjects && { forProjects }),
    answers: { 200: { about: `the ${one}`, schema: view.schema } },
    handle: (call, { journal, sightOf }) =>
      readResource(journal.fleet, view, call, sightOf(call.caller, journal.fleet)),
  });
}

/** Both of them. */
export function readRoutes<K extends string, D extends AnyDoc>(
  of: Resource<K, D>,
  { listing, ...reading }: Omit<Reading, 'about'> & { readonly listing: Listing<K, D> },
): Route[] {
  return [listRoute(of, { listing, ...reading }), showRoute(of, reading)];
}

/** Who asks for a change, and when. */
interface Asked {
  readonly by: string;
  readonly nowMs: number;
  readonly admin: boolean;
  /** The site that the caller is bound to: what is elsewhere is not named to it. */
  readonly callerSite: string | undefined;
}

function askedBy({ caller }: Call, { clock }: World): Asked {
  return { by: caller.name, nowMs: clock.nowMs(), admin: permits(caller, 'admin'), callerSite: caller.site };
}

interface Writing extends Pick<RouteFace, 'about' | 'access' | 'scope' | 'forProjects' | 'asksForNames'> {
  readonly access: 'operator' | 'admin';
}

interface Creating<B extends TObject> extends Writing {
  readonly body: B;
  readonly decide: (fleet: FleetReader, body: Static<B>, asked: Asked) => Decision<unknown>;
}

/** For resources whose name is their id. */
export function createRoute<D extends AnyDoc, B extends TObject<{ name: TString }>>(
  of: Resource<string, D>,
  { body: schema, decide, ...face }: Creating<B>,
): Route {
  const { path, what, tag = what, one, view } = of;
  return write({
    ...face,
    method: 'POST',
    path,
    tag,
    body: schema,
    asksForNames: true,
    answers: { 201: { about: `the ${one}`, schema: view.schema } },
    handle: (call, world) => {
      const asked = askedBy(call, world);
      const { name } = call.body as { readonly name: string };
      return {
        creates: { view, names: [name], fieldOf: () => '/name' },
        why: `create ${one} ${name}`,
        decide: (fleet) => decide(fleet, call.body, asked),
        answer: (_, after) => resourceAfter(view, after, { id: name, status: 201, location: `${path}/${name}` }),
      };
    },
  });
}

interface Editing<B extends TObject> extends Writing {
  readonly body: B;
  readonly decide: (
    fleet: FleetReader,
    command: { readonly id: string; readonly edit: Static<B> },
    asked: Asked,
  ) => Decision<unknown>;
}

export function editRoute<D extends AnyDoc, B extends TObject>(
  of: Resource<string, D>,
  { body: schema, decide, ...face }: Editing<B>,
): Route {
  const { one, view } = of;
  return write({
    ...faceOfOne(of),
    ...face,
    method: 'PATCH',
    body: schema,
    answers: { 200: { about: `the ${one}`, schema: view.schema } },
    handle: (call, world) => {
      const asked = askedBy(call, world);
      const { params, body } = call;
      return {
        target: { view, id: params.id },
        why: `edit ${Object.keys(body).join(', ')}`,
        decide: (fleet) => decide(fleet, { id: params.id, edit: body }, asked),
        answer: (_, after) => resourceAfter(view, after, params),
      };
    },
  });
}

interface Deleting<D extends AnyDoc> extends Writing {
  readonly decide: (fleet: FleetReader, command: { readonly id: string }) => Decision<Shown<D>>;
}

/** Answers what is gone as it was. */
export function deleteRoute<D extends AnyDoc>(of: Resource<string, D>, { decide, ...face }: Deleting<D>): Route {
  const { one, view } = of;
  return write({
    ...faceOfOne(of),
    ...face,
    method: 'DELETE',
    answers: { 200: { about: `the ${one} as it was`, schema: view.schema } },
    handle: ({ params }) => ({
      target: { view, id: params.id },
      why: `delete ${one} ${params.id}`,
      decide: (fleet) => decide(fleet, params),
      answer: (stored, { sight }) => ({
        kind: 'answer',
        status: 200,
        text: view.text(stored, sight),
        shown: shownBy(view, stored),
      }),
    }),
  });
}

function faceOfOne({ path, what, tag = what }: Named) {
  return { path: `${path}/:id`, tag, params: BY_ID };
}
