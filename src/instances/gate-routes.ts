// GET /api/v1/gates: the progress of a rolling upgrade of the hosts, and what a build that starts now does about it.
import { Type } from 'typebox';
import { answer, read, type Route } from '../access/index.ts';
import { gatesOf, pathOf } from './gates.ts';
import { INSTANCE_SCHEMA } from './model.ts';

const Gate = Type.Object({
  open: Type.Boolean(),
  needs: Type.Integer({ description: 'the version that every host must have' }),
  below: Type.Integer({ description: 'hosts that are below it, neither removed nor forced down' }),
});

export interface GateRouteOptions {
  /** Whether this server has the credentials of the network back ends that need some. */
  readonly hasCredentials: () => boolean;
}

export function gateRoutes({ hasCredentials }: GateRouteOptions): Route[] {
  return [
    read({
      method: 'GET',
      path: '/api/v1/gates',
      tag: 'instances',
      about: 'Show the upgrade gates: who creates and binds the ports of a build that starts now, and why',
      access: 'viewer',
      // The credentials of the lease holder count.
      onFollower: 'forward',
      answers: {
        200: {
          about: 'the gates',
          schema: Type.Object({
            minimumVersion: Type.Integer({ description: 'the lowest version of a host that counts' }),
            create: Gate,
            bind: Gate,
            credentials: Type.Boolean({ description: 'whether this server has those of the network back ends' }),
            path: Type.Object(INSTANCE_SCHEMA.properties.path.properties, {
              description: 'of a build that begins now, on networks that need no credentials or have theirs',
            }),
          }),
        },
      },
      handle: (_, { journal: { fleet } }) =>
        answer({ ...gatesOf(fleet), credentials: hasCredentials(), path: pathOf(fleet, true) }),
    }),
  ];
}
