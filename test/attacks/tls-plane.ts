// A real server with TLS, and callers that show it whatever certificate they like.
import { randomBytes, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request, type Agent, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { secretText } from '../../src/access/index.ts';
import {
  certifySubject,
  newCertificateAuthority,
  newCertificateKey,
  verifyCertificateRequest,
  readClientCertificate,
  readAuthority,
  createCertificateRequest,
  type CertificateAuthority,
} from '../../src/link/certificates/client-certificate.ts';
import type { JoinResponse } from '../../src/agent/protocol/messages.ts';
import type { IssuedCertificate } from '../../src/link/index.ts';
import type { KeyPair } from '../../src/link/call.ts';
import { KEY_FILE, type ControlPlaneKeys } from '../../src/main/key-file.ts';
import { newFolder, startServer, type ServerProcess } from '../cli/muster.ts';
import type { SelfSigned } from '../self-signed.ts';

export interface TlsAnswer {
  readonly status: number;
  readonly body: Record<string, unknown> & { readonly code?: string };
  readonly text: string;
  readonly socket: IncomingMessage['socket'];
}

export interface Shown {
  readonly secret?: string;
  readonly pair?: KeyPair | undefined;
  readonly body?: object;
  readonly agent?: Agent;
  readonly tls?: RequestOptions & { readonly session?: Buffer };
  readonly headers?: Readonly<Record<string, string>>;
}

export interface JoinedHost {
  readonly credential: string;
  readonly joined: JoinResponse;
  /** Absent when the server issued none. */
  readonly pair: KeyPair | undefined;
}

export class TlsPlane {
  readonly server: ServerProcess;
  readonly tls: SelfSigned;
  readonly keys: string;
  readonly #admin: string;

  private constructor(server: ServerProcess, tls: SelfSigned, keys: string) {
    this.server = server;
    this.tls = tls;
    this.keys = keys;
    this.#admin = readFileSync(join(server.data, 'admin-token'), 'utf8').trim();
  }

  static async start(tls: SelfSigned, ...more: readonly string[]): Promise<TlsPlane> {
    const folder = newFolder();
    writeFileSync(join(folder, 'cert.pem'), tls.cert);
    writeFileSync(join(folder, 'key.pem'), tls.key);
    const files = ['--tls-cert', join(folder, 'cert.pem'), '--tls-key', join(folder, 'key.pem')];
    const server = await startServer(newFolder(), ...files, ...more);
    const keys = more.includes('--keys') ? more[more.indexOf('--keys') + 1]! : server.data;
    return new TlsPlane(server, tls, keys);
  }

  get port(): number {
    return Number(new URL(this.server.url).port);
  }

  async ask(method: string, path: string, { secret, pair, body, agent, tls, headers }: Shown = {}): Promise<TlsAnswer> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const requested = request({
      host: '127.0.0.1',
      port: this.port,
      method,
      path,
      ca: this.tls.cert,
      agent: agent ?? false,
      ...(pair !== undefined && { cert: pair.certificate, key: pair.key }),
      headers: {
        ...headers,
        ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
        ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      },
      ...tls,
    });
    requested.end(text);
    const [answer] = (await once(requested, 'response')) as [IncomingMessage];
    const { socket } = answer;
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    const read = Buffer.concat(chunks).toString();
    return { status: answer.statusCode ?? 0, body: parseBody(read), text: read, socket };
  }

  admin(method: string, path: string, body?: object): Promise<TlsAnswer> {
    return this.ask(method, path, { secret: this.#admin, ...(body !== undefined && { body }) });
  }

  async joinToken(host: string): Promise<string> {
    if ((await this.admin('GET', `/api/v1/hosts/${host}`)).status === 404)
      await this.admin('POST', '/api/v1/hosts', { hosts: [{ name: host }] });
    const { body } = await this.admin('POST', `/api/v1/hosts/${host}/join-token`, {});
    return String(body['secret']);
  }

  /** Joins as an agent does; the request says `name`, whatever the host is. */
  async join(host: string, { name = host, token }: { name?: string; token?: string } = {}): Promise<JoinedHost> {
    const key = newCertificateKey();
    const secret = randomBytes(32).toString('base64url');
    const { status, body } = await this.ask('POST', '/api/v1/agent/join', {
      secret: token ?? (await this.joinToken(host)),
      body: { secret, certificateRequest: createCertificateRequest(key.privateKey, name) },
    });
    if (status !== 200) throw new Error(`not joined: ${JSON.stringify(body)}`);
    const joined = body as unknown as JoinResponse;
    const pair = joined.certificate && { key: key.pem, certificate: joined.certificate.certificate };
    return { credential: secretText(joined.token, secret), joined, pair };
  }

  async managerJoinToken(manager: string): Promise<string> {
    const { body } = await this.admin('POST', `/api/v1/managers/${manager}/join-token`, {});
    return String(body['secret']);
  }

  /** Joins as a manager does; the request says `name`, whatever the manager is. */
  async joinManager(
    manager: string,
    { name = manager, token }: { name?: string; token?: string } = {},
  ): Promise<{
    readonly credential: string;
    readonly pair: KeyPair | undefined;
    readonly subject: string | undefined;
  }> {
    const key = newCertificateKey();
    const secret = randomBytes(32).toString('base64url');
    const { status, body } = await this.ask('POST', `/api/v1/managers/${manager}/join`, {
      secret: token ?? (await this.managerJoinToken(manager)),
      body: { secret, certificateRequest: createCertificateRequest(key.privateKey, name) },
    });
    if (status !== 200) throw new Error(`not joined: ${JSON.stringify(body)}`);
    const issued = body['certificate'] as IssuedCertificate | undefined;
    const pair = issued && { key: key.pem, certificate: issued.certificate };
    return { credential: secretText(String(body['token']), secret), pair, subject: this.subjectIn(issued) };
  }

  /** Whom the server's authorities say that a certificate is for, with its kind. */
  subjectIn(issued: IssuedCertificate | undefined): string | undefined {
    const authorities = this.readKeys().authorities.map(({ certificate }) => new X509Certificate(certificate));
    const read = issued && readClientCertificate(new X509Certificate(issued.certificate), authorities);
    return read && `${read.subject.kind} ${read.subject.name}`;
  }

  register(manager: string, credential: string, pair: KeyPair | undefined): Promise<TlsAnswer> {
    const body = { holder: `p-${manager}`, version: '1' };
    return this.ask('PUT', `/api/v1/managers/${manager}`, { secret: credential, pair, body });
  }

  renewManager(manager: string, credential: string, pair: KeyPair | undefined): Promise<TlsAnswer> {
    const { privateKey } = newCertificateKey();
    const body = { certificateRequest: createCertificateRequest(privateKey, 'anything') };
    return this.ask('POST', `/api/v1/managers/${manager}/certificate`, { secret: credential, pair, body });
  }

  heartbeat(credential: string, pair: KeyPair | undefined, more: Shown = {}): Promise<TlsAnswer> {
    const shown = { ...more, secret: credential, pair, body: { serviceVersion: 1 } };
    return this.ask('POST', '/api/v1/agent/heartbeat', shown);
  }

  renew(credential: string, pair: KeyPair | undefined): Promise<TlsAnswer> {
    const { privateKey } = newCertificateKey();
    const body = { certificateRequest: createCertificateRequest(privateKey, 'anything') };
    return this.ask('POST', '/api/v1/agent/certificate', { secret: credential, pair, body });
  }

  readKeys(): ControlPlaneKeys {
    return JSON.parse(readFileSync(join(this.keys, KEY_FILE), 'utf8')) as ControlPlaneKeys;
  }

  /** The authority that the server issues with: which must stay secret. */
  authority(): CertificateAuthority {
    const [{ certificate, privateKey }] = this.readKeys().authorities as [ControlPlaneKeys['authorities'][number]];
    return readAuthority(certificate, privateKey);
  }

  /** Whom the server's authorities say that a certificate is for. */
  hostIn(issued: IssuedCertificate | undefined): string | undefined {
    const authorities = this.readKeys().authorities.map(({ certificate }) => new X509Certificate(certificate));
    return issued && readClientCertificate(new X509Certificate(issued.certificate), authorities)?.subject.name;
  }
}

function parseBody(text: string): TlsAnswer['body'] {
  try {
    return JSON.parse(text) as TlsAnswer['body'];
  } catch {
    // Whatever is no JSON has no code.
    return {};
  }
}

interface ForgedTerms {
  readonly kind?: 'host' | 'manager';
  readonly nowMs?: number;
  readonly toMs?: number;
}

/** A certificate for a host, or for a manager, by whatever authority, valid for whatever time. */
export function forgeCertificate(authority: CertificateAuthority, name: string, terms: ForgedTerms = {}): KeyPair {
  const key = newCertificateKey();
  const { kind = 'host', nowMs = Date.now(), toMs = nowMs + 3_600_000 } = terms;
  const spki = verifyCertificateRequest(createCertificateRequest(key.privateKey, name));
  return { key: key.pem, certificate: certifySubject(spki, authority, { subject: { kind, name }, nowMs, toMs }) };
}

export function selfMadeAuthority(): CertificateAuthority {
  const { certificate, pem } = newCertificateAuthority(Date.now());
  return readAuthority(certificate, pem);
}
