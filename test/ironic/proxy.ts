// Stands between the driver and Ironic: counts requests, cuts answers, and pretends to be an older version.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const VERSION_MAX_HEADER = 'x-openstack-ironic-api-maximum-version';

export interface ProxiedIronicCall {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  /** What Ironic answered. */
  status?: number;
}

export class IronicProxy {
  readonly calls: ProxiedIronicCall[] = [];
  /** What becomes of a call: `cut` ends its connection in the middle of the answer. */
  decide: (call: ProxiedIronicCall) => 'pass' | 'cut' | 'busy' = () => 'pass';
  /** The newest version that is admitted to; without allocations where those are newer. */
  versionMax: string | undefined;
  readonly #target: string;
  readonly #server: Server;

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((request, response) => {
      this.#pass(request, response).catch(() => response.destroy());
    });
  }

  static async start(target: string): Promise<IronicProxy> {
    const proxy = new IronicProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const call: ProxiedIronicCall = {
      method: request.method ?? '',
      path: request.url ?? '',
      body: Buffer.concat(chunks).toString(),
    };
    this.calls.push(call);
    const fate = this.decide(call);
    if (fate === 'busy') return void response.writeHead(503).end('{}');
    if (this.versionMax !== undefined && call.path.startsWith('/v1/allocations'))
      return void response.writeHead(404).end('{}');
    const { 'content-type': type, 'x-openstack-ironic-api-version': version } = request.headers;
    const answer = await fetch(`${this.#target}${call.path}`, {
      method: call.method,
      headers: {
        ...(type !== undefined && { 'content-type': type }),
        ...(typeof version === 'string' && { 'x-openstack-ironic-api-version': version }),
      },
      ...(call.body !== '' && { body: call.body }),
    });
    call.status = answer.status;
    const text = Buffer.from(await answer.arrayBuffer());
    const newest = this.versionMax ?? answer.headers.get(VERSION_MAX_HEADER) ?? '';
    response.writeHead(answer.status, {
      'content-type': 'application/json',
      'content-length': text.length,
      [VERSION_MAX_HEADER]: newest,
    });
    if (fate === 'pass') return void response.end(text);
    response.write(text.subarray(0, text.length / 2), () => response.destroy());
  }

  /** Those that Ironic took. */
  countProvisions(node: string, target: string): number {
    const path = `/v1/nodes/${node}/states/provision`;
    return this.calls.filter(
      (call) => call.path === path && call.body.includes(`"${target}"`) && (call.status ?? 500) < 300,
    ).length;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
