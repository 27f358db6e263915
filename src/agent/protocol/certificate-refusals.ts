// The codes with which servers refuse an agent's certificate, or its absence. They never mean that the host has left: an agent that gets
// one requests a new certificate.

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
