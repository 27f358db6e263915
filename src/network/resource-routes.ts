// What the routes of networks, segments, subnets, ports and quotas have in common: a list, one of it, and the end of one.
import {
  BY_ID,
  listAnswer,
  listQuery,
  listResources,
  read,
  readResource,
  write,
  type Listing,
  type Route,
  type View,
} from '../access/index.ts';
import type { AnyDoc, FleetReader, Stored } from '../fleet/index.ts';
import type { Decision } from '../journal/index.ts';

interface Readable<K extends string, D extends AnyDoc> {
  readonly path: string;
  /** In the plural: it is also the tag. */
  readonly what: string;
  readonly one: string;
  readonly listing: Listing<K, D>;
  /** `site` when a site-bound caller sees some of them. */
  readonly scope?: 'fleet' | 'site';
}

/** List and show. */
export function readRoutes<K extends string, D extends AnyDoc>(of: Readable<K, D>): Route[] {
  const { path, what, one, listing, scope = 'fleet' } = of;
  const { view } = listing;
  return [
    read({
      method: 'GET',
      path,
      tag: what,
      about: `List ${what}`,
      access: 'viewer',
      scope,
      query: listQuery(listing),
      answers: { 200: { about: `a page of ${what}`, schema: listAnswer(view) } },
      handle: (call, { journal }) => listResources(journal.fleet, listing, call),
    }),
    read({
      method: 'GET',
      path: `${path}/:id`,
      tag: what,
      about: `Show a ${one}`,
      access: 'viewer',
      scope,
      params: BY_ID,
      answers: { 200: { about: `the ${one}`, schema: view.schema } },
      handle: (call, { journal }) => readResource(journal.fleet, view, call),
    }),
  ];
}

interface Deletable<K extends string, D extends AnyDoc> {
  readonly path: string;
  readonly what: string;
  readonly one: string;
  readonly about: string;
  readonly access: 'operator' | 'admin';
  readonly view: View<K, D>;
  readonly decide: (fleet: FleetReader, command: { readonly id: string }) => Decision<Stored<K, D>>;
}

export function deleteRoute<K extends string, D extends AnyDoc>(of: Deletable<K, D>): Route {
  const { path, what, one, about, access, view, decide } = of;
  return write({
    method: 'DELETE',
    path: `${path}/:id`,
    tag: what,
    about,
    access,
    params: BY_ID,
    answers: { 200: { about: `the ${one} as it was`, schema: view.schema } },
    handle: ({ params }) => ({
      target: { view, id: params.id },
      why: `delete ${one} ${params.id}`,
      decide: (fleet) => decide(fleet, params),
      answer: (stored) => ({ kind: 'answer', status: 200, text: view.text(stored) }),
    }),
  });
}
