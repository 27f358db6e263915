// When a program requests a certificate: it has none, its own is due, the keys of the control plane were rotated, or a server refused
// it. Pure. Its clock is compared with itself alone: one that differs from the server's must not renew for ever.
import type { Validity } from './client-certificate.ts';

/** Renewed after two thirds of its life at the latest: a third is left for servers that are away. */
const RENEW_AFTER = 2 / 3;
/** Certificates that were issued together are not renewed together. */
const JITTER = 0.1;
/** After a rotation every program requests one; the certificates before are valid for the whole overlap, so there is no hurry. */
const ROTATION_SPREAD_MS = 60_000;

export interface RenewalState {
  readonly current: (Validity & { readonly serial: number; readonly receivedAtMs: number }) | undefined;
  /** Of the control plane's keys, and when the program learnt of it. */
  readonly rotation: { readonly serial: number; readonly learntAtMs: number } | undefined;
  /** A server does not take the certificate. */
  readonly isRefused: boolean;
  /** From 0 up to, not including, 1; the same for as long as the certificate is held. */
  readonly jitter: number;
}

/** When to request a certificate, by the program's own clock. */
export function renewalAtMs({ current, rotation, isRefused, jitter }: RenewalState, nowMs: number): number {
  // A clock that went back says nothing about how old the certificate is.
  if (current === undefined || isRefused || current.receivedAtMs > nowMs) return nowMs;
  const dueMs = current.receivedAtMs + (current.toMs - current.fromMs) * (RENEW_AFTER - JITTER * jitter);
  if (rotation === undefined || rotation.serial <= current.serial) return dueMs;
  return Math.min(dueMs, rotation.learntAtMs + ROTATION_SPREAD_MS * jitter);
}
