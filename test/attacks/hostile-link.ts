// Whoever is between an agent and its server: one that answers in a server's place and writes down what it is sent, and a host that
// has joined over plain HTTP.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, vi } from 'vitest';
import type { Agent } from '../../src/agent/node/agent.ts';
import { TestHost } from '../../src/agent/node/agent-fixture.ts';
import { HttpLink } from '../../src/agent/node/http-link.ts';
import { verifyEd25519 } from '../../src/agent/protocol/ed25519.ts';
import type { Log } from '../../src/operations/index.ts';
import { HttpPlane } from '../agent/http-plane.ts';

export interface Recorder {
  readonly url: string;
  /** The secrets that were sent to it. */
  readonly secrets: string[];
  readonly port: number;
}

export type HostileHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** A program that is no server of the control plane, and records what it is sent. */
export async function startForeignServer(
  handle: HostileHandler,
  tls?: { readonly key: string; readonly cert: string },
): Promise<Recorder> {
  const secrets: string[] = [];
  const listener: HostileHandler = (request, response) => {
    const { authorization } = request.headers;
    if (authorization !== undefined) secrets.push(authorization);
    request.resume().once('end', () => handle(request, response));
  };
  const server = tls === undefined ? createServer(listener) : createSecure(tls, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  const { port } = server.address() as AddressInfo;
  return { url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, secrets, port };
}

export const problem = (response: ServerResponse, status: number, body: object): void =>
  void response.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(body));

export interface Joined {
  readonly plane: HttpPlane;
  readonly url: string;
  readonly rack: TestHost;
  /** Starts the agent anew, with these servers. */
  restart(...servers: string[]): Promise<Agent>;
}

/** A host in service over plain HTTP on loopback, whose agent has stopped. */
export async function joined(): Promise<Joined> {
  const plane = new HttpPlane();
  const { url } = await plane.listen('s1');
  await vi.waitFor(() => expect(plane.hasLeader).toBe(true), 20_000);
  await plane.register('c1');
  const token = await plane.joinToken('c1');
  const rack = new TestHost(plane, { name: 'c1', joinToken: () => Promise.resolve(token) });
  const link = new HttpLink();
  onTestFinished(async () => {
    await rack.stop();
    link.close();
    await plane.close();
  });
  const start = (servers: readonly string[]): Agent =>
    rack.start({ link, verify: verifyEd25519, log: QUIET }, { servers, heartbeatMs: 50 });
  const agent = start([url]);
  await vi.waitFor(() => expect(agent.status().applied).toBeDefined(), 20_000);
  await vi.waitFor(() => expect(plane.host('c1')?.state).toBe('active'), 20_000);
  await rack.stop();
  return {
    plane,
    url,
    rack,
    restart: async (...servers) => {
      await rack.stop();
      return start(servers);
    },
  };
}

const silent = (): void => undefined;
export const QUIET: Log = { info: silent, warn: silent, error: silent };
