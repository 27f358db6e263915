// GET /api/v1/hosts/:id/agent-certificate: the certificate of a host's agent as the lease holder saw it. It is kept in memory only: a
// new lease holder has it from the agent's next request.
import { Type } from 'typebox';
import { answer, BY_ID, read, refusalAnswer, canSeeSite, type Route } from '../../access/index.ts';
import type { CertificateStatus } from '../../link/index.ts';
import { findHost, unknownHost } from '../../hosts/index.ts';

export type CertificateStatusOf = (host: string, nowMs: number) => CertificateStatus | undefined;

const STATUS = Type.Object({
  host: Type.String(),
  state: Type.Enum(['valid', 'renewal-overdue', 'none', 'not-seen', 'off'], {
    description:
      '`not-seen`: the agent has sent no request since this server holds the lease; `off`: the servers issue no certificates to agents',
  }),
  expiresAtMs: Type.Optional(Type.Integer({ description: 'of the certificate that the agent presented last' })),
});

/** Without `certificateOf` agents get no certificates. */
export function certificateRoutes(certificateOf: CertificateStatusOf | undefined): Route[] {
  return [
    read({
      method: 'GET',
      path: '/api/v1/hosts/:id/agent-certificate',
      tag: 'hosts',
      about: 'Show until when the certificate that the agent of a host presented last is valid',
      access: 'viewer',
      scope: 'site',
      onFollower: 'forward',
      params: BY_ID,
      answers: { 200: { about: 'its state and its expiry', schema: STATUS } },
      handle: ({ params: { id }, caller }, { journal: { fleet }, clock }) => {
        const host = findHost(fleet, id);
        if (host === undefined || !canSeeSite(caller, host.doc.site)) return refusalAnswer(unknownHost(id));
        if (certificateOf === undefined) return answer({ host: host.id, state: 'off' });
        return answer({ host: host.id, state: 'not-seen', ...certificateOf(host.id, clock.nowMs()) });
      },
    }),
  ];
}
