// A control plane whose servers are reached over real HTTP, for the suites of the agent.
import pino from 'pino';
import { TestControlPlane, type TestControlPlaneServer } from '../../src/agent/server/control-plane-fixture.ts';
import { ed25519Signer } from '../../src/agent/protocol/signer-fixture.ts';
import { agentRoutes } from '../../src/agent/runtime.ts';
import { createServer, type ApiServer } from '../../src/api/runtime.ts';
import { compose } from '../../src/composition/index.ts';
import { NO_SECRETS } from '../../src/keys/index.ts';
import { realClock } from '../../src/main/clock.ts';
import { freePort } from '../free-port.ts';

export class HttpPlane extends TestControlPlane {
  readonly #servers: ApiServer[] = [];

  constructor() {
    super(realClock);
    this.signer = ed25519Signer();
  }

  /** Starts a server on a port of its own; answers its address. */
  async listen(
    name: string,
  ): Promise<{ readonly url: string; readonly server: TestControlPlaneServer; readonly api: ApiServer }> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const server = await this.start(name, url);
    const api = createServer({
      journal: server.journal,
      clock: realClock,
      ids: this.ids,
      routes: agentRoutes(server.gateway),
      representations: [],
      scopes: compose([]),
      settings: [],
      seal: NO_SECRETS.seal,
      onRevokedCredential: (host, token) => server.gateway.refuseRevoked(host, token),
      signRefusal: (credential, code) => server.statements.signCredentialRefusal(credential, code),
      signHolder: ({ url: holder, epoch }) => server.statements.signHolder(holder, epoch),
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
