// Replaces the certificate of a running server when its files change or on SIGHUP. A new certificate that cannot be used, or has expired,
// never replaces the one in use: that is logged and exposed as a metric.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Logger } from 'pino';
import type { Clock } from '../journal/index.ts';
import { readCertificate, type Certificate, type CertificatePaths, type CertificateRead } from './certificate.ts';

/**
 * How often the files are read. A change counts when two reads in a row agree, so that a certificate whose key is still being copied is not
 * mistaken for a broken one.
 */
const POLL_MS = 5000;

export interface CertificateReloaderOptions {
  readonly paths: CertificatePaths;
  /** The certificate at the start of the server. */
  readonly served: Certificate;
  /** Makes the server present it on new connections. */
  readonly serve: (certificate: Certificate) => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  readonly pollMs?: number;
}

export class CertificateReloader {
  readonly #options: CertificateReloaderOptions;
  readonly #reloads: Counter<'outcome'>;
  #served: Certificate;
  /** The contents of the files at the last read, and those that were last evaluated. */
  #seen: string;
  #assessedText: string;
  #isRefusing = false;

  constructor(options: CertificateReloaderOptions) {
    this.#options = options;
    this.#served = options.served;
    this.#seen = options.served.fingerprint;
    this.#assessedText = options.served.fingerprint;
    this.#reloads = new Counter({
      name: 'muster_tls_certificate_reloads_total',
      help: 'Certificates that were reloaded, by whether they are in use now',
      labelNames: ['outcome'],
      registers: [options.registry],
    });
    for (const outcome of ['reloaded', 'refused']) this.#reloads.inc({ outcome }, 0);
    const expiresAt = (): number => this.#served.expiresAtMs / 1000;
    this.#gauge('expires_seconds', 'When the certificate in use expires, in seconds since 1970', expiresAt);
    const refusing = (): number => (this.#isRefusing ? 1 : 0);
    this.#gauge(
      'refused',
      'Whether the files hold a certificate that cannot be used: the old one stays in use',
      refusing,
    );
    options.log.info(
      { fingerprint: options.served.fingerprints.publicKey },
      'agents without an authority can authenticate this server by its fingerprint (muster agent --server-fingerprint)',
    );
    if (options.served.expiresAtMs <= options.clock.nowMs())
      options.log.error(
        { cert: options.paths.cert, expiredAt: isoTime(options.served) },
        'the certificate has expired',
      );
  }

  /** Reads the files now, whether they changed or not. */
  reload(): void {
    const read = readCertificate(this.#options.paths);
    this.#seen = fingerprintOf(read);
    this.#assess(read);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, paths, pollMs = POLL_MS } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(pollMs, signal);
      if (signal.aborted) return;
      const read = readCertificate(paths);
      const fingerprint = fingerprintOf(read);
      const isSettled = fingerprint === this.#seen;
      this.#seen = fingerprint;
      if (isSettled && fingerprint !== this.#assessedText) this.#assess(read);
    }
  }

  #assess(read: CertificateRead): void {
    this.#assessedText = fingerprintOf(read);
    if (read.kind === 'unusable') return this.#refuse(read.reason);
    const { certificate } = read;
    if (certificate.expiresAtMs <= this.#options.clock.nowMs())
      return this.#refuse(`${this.#options.paths.cert} has expired at ${isoTime(certificate)}.`);
    this.#options.serve(certificate);
    this.#served = certificate;
    this.#isRefusing = false;
    this.#reloads.inc({ outcome: 'reloaded' });
    const { publicKey: fingerprint } = certificate.fingerprints;
    this.#options.log.info(
      { expiresAt: isoTime(certificate), fingerprint },
      'new connections get the reloaded certificate',
    );
  }

  #refuse(reason: string): void {
    this.#isRefusing = true;
    this.#reloads.inc({ outcome: 'refused' });
    this.#options.log.error(
      { reason, servedExpiresAt: isoTime(this.#served) },
      'the new certificate cannot be used, the old one stays in use: put a valid certificate and its key in place',
    );
  }

  /** A value that is read when it is scraped. */
  #gauge(name: string, help: string, read: () => number): void {
    const collect = function collect(this: Gauge): void {
      this.set(read());
    };
    const { registry } = this.#options;
    registry.registerMetric(new Gauge({ name: `muster_tls_certificate_${name}`, help, registers: [], collect }));
  }
}

function fingerprintOf(read: CertificateRead): string {
  return read.kind === 'usable' ? read.certificate.fingerprint : read.fingerprint;
}

function isoTime({ expiresAtMs }: Certificate): string {
  return new Date(expiresAtMs).toISOString();
}
