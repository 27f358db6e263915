// The HTTP surface of flavors. Every reader of the fleet may read them; operators of the whole fleet create them.
import { Type } from 'typebox';
import {
  strictObject,
  createRoute,
  deleteRoute,
  readRoutes,
  type Listing,
  type Resource,
  type Route,
} from '../../access/index.ts';
import type { Builders } from '../builder.ts';
import { createFlavor, deleteFlavor } from './flavors.ts';
import { FLAVOR_SCHEMA, type Flavor } from '../model.ts';
import { FLAVOR_REPRESENTATION } from '../representations.ts';

const LISTING: Listing<'flavor', Flavor> = {
  representation: FLAVOR_REPRESENTATION,
  filters: {},
  nameIsId: true,
  sorts: {
    name: (doc) => doc.name,
    vcpus: (doc) => doc.vcpus,
    memoryMiB: (doc) => doc.memoryMiB,
    diskGiB: (doc) => doc.diskGiB,
  },
};

const FLAVORS: Resource<'flavor', Flavor> = {
  path: '/api/v1/flavors',
  plural: 'flavors',
  singular: 'flavor',
  representation: FLAVOR_REPRESENTATION,
};
const { name, vcpus, memoryMiB, diskGiB, resources, requiredTraits, forbiddenTraits } = FLAVOR_SCHEMA.properties;
const { bareMetal } = FLAVOR_SCHEMA.properties;

export function flavorRoutes(builders: Builders): readonly Route[] {
  return [
    ...readRoutes(FLAVORS, { listing: LISTING, forProjects: true }),
    createRoute(FLAVORS, {
      about: 'Create a flavor: the resources of one instance, and the traits that its host must have',
      access: 'operator',
      body: strictObject({
        name,
        vcpus,
        memoryMiB,
        diskGiB,
        resources,
        requiredTraits: Type.Optional(requiredTraits),
        forbiddenTraits: Type.Optional(forbiddenTraits),
        bareMetal,
      }),
      decide: (fleet, body, { by, nowMs }) =>
        createFlavor(fleet, { ...body, by, nowMs }, (flavor) => builders.forFlavor(flavor).flavorProblem?.(flavor)),
    }),
    deleteRoute(FLAVORS, {
      about: 'Delete a flavor that no instance uses any more',
      access: 'operator',
      decide: (fleet, { id }) => deleteFlavor(fleet, id),
    }),
  ];
}
