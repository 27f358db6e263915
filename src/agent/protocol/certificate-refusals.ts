// The codes by which servers refuse the certificate of an agent, or that it has none. They never mean that its host has left: an agent
// that is refused so asks for a new certificate.

export const CERTIFICATE_REFUSALS = {
  required: 'certificate-required',
  unknown: 'certificate-unknown',
  expired: 'certificate-expired',
  otherHost: 'certificate-of-other-host',
} as const;

const CODES: readonly string[] = Object.values(CERTIFICATE_REFUSALS);

export function isCertificateRefusal(code: string): boolean {
  return CODES.includes(code);
}
