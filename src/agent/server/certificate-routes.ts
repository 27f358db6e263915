// GET /api/v1/hosts/:id/agent-certificate: what the server that decides has seen of the certificate of a host's agent. It is kept
// in memory alone: a server that took over knows of an agent with its next request.
import { Type } from 'typebox';
import { answer, BY_ID, read, refusalAnswer, canSeeSite, type Route } from '../../access/index.ts';
import { findHost, unknownHost } from '../../hosts/index.ts';
import type { CertificateStatus } from './certificate-check.ts';

export type CertificateStatusOf = (host: string, nowMs: number) => CertificateStatus | undefined;

const STATUS = Type.Object({
  host: Type.String(),
  state: Type.Enum(['valid', 'renewal-overdue', 'none', 'not-seen', 'off'], {
    description:
      '`not-seen`: the agent has not asked since this server decides; `off`: the servers give agents no certificates',
  }),
  expiresAtMs: Type.Optional(Type.Integer({ description: 'of the certificate that the agent showed last' })),
});

/** Without `certificateOf` agents get no certificates. */
export function certificateRoutes(certificateOf: CertificateStatusOf | undefined): Route[] {
  return [
    read({
      method: 'GET',
      path: '/api/v1/hosts/:id/agent-certificate',
      tag: 'hosts',
      about: 'Show until when the certificate is good that the agent of a host showed last',
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
