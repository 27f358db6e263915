// The codes with which servers refuse a client certificate, or its absence. They never mean that a host has left or that a manager has lost its lease:
// whoever gets one requests a new certificate.

export const CERTIFICATE_REFUSALS = {
  required: 'certificate-required',
  unknown: 'certificate-unknown',
  expired: 'certificate-expired',
  otherHost: 'certificate-of-other-host',
  otherManager: 'certificate-of-other-manager',
} as const;

const CODES: readonly string[] = Object.values(CERTIFICATE_REFUSALS);

export function isCertificateRefusal(code: string): boolean {
  return CODES.includes(code);
}
