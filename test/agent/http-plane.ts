// A control plane whose servers are reached over real HTTP, for the suites of the agent.
import pino from 'pino';
import { Plane, type PlaneServer } from '../../src/agent/plane-fixture.ts';
import { ed25519Signer } from '../../src/agent/signer-fixture.ts';
import { agentRoutes } from '../../src/agent/runtime.ts';
import { createServer, type Server } from '../../src/api/runtime.ts';
import { realClock } from '../../src/main/clock.ts';
import { freePort } from '../free-port.ts';

export class HttpPlane extends Plane {
  readonly #servers: Server[] = [];

  constructor() {
    super(realClock);
    this.signer = ed25519Signer();
  }

  /** Starts a server on a port of its own; answers its address. */
  async listen(name: string): Promise<{ readonly url: string; readonly server: PlaneServer; readonly api: Server }> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const server = await this.start(name, url);
    const api = createServer({
      journal: server.journal,
      clock: realClock,
      ids: this.ids,
      routes: agentRoutes(server.desk),
      representations: [],
      settings: [],
      onRevokedCredential: (host, token) => server.desk.refuseRevoked(host, token),
      signRefusal: (credential, code) => server.vouching.refusal(credential, code),
      signHolder: ({ url: holder, epoch }) => server.vouching.holder(holder, epoch),
      log: pino({ level: 'silent' }),
    });
    await api.listen({ host: '127.0.0.1', port });
    this.#servers.push(api);
    return { url, server, api };
  }

  override async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
    await super.close();
  }
}
