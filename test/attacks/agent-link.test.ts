// An agent on a hostile network: whoever answers in a server's place, redirects it or sits between it and its server gets no secret
// that was not sent there anyway, and takes no host out.
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { HttpLink } from '../../src/agent/node/http-link.ts';
import { verifyEd25519 } from '../../src/agent/protocol/ed25519.ts';
import { ed25519Signer } from '../../src/agent/protocol/signer-fixture.ts';
import { signStatement, type Statement } from '../../src/agent/protocol/statement.ts';
import { sealJson } from '../../src/link/state/sealed-json.ts';
import { LinkDown } from '../../src/link/call.ts';
import { findHost, HOST } from '../../src/hosts/index.ts';
import { put } from '../../src/fleet/index.ts';
import { accept } from '../../src/journal/index.ts';
import { newFolder, run } from '../cli/muster.ts';
import { selfSigned } from '../self-signed.ts';
import { joined, problem, QUIET, startForeignServer } from './hostile-link.ts';

const REMOVED = { code: 'host-removed', detail: 'Host "c1" was removed from the fleet.', status: 403 };

describe('a forged word that the host was removed', () => {
  const forged = async (body: object): Promise<void> => {
    const { rack, restart } = await joined();
    const performed = rack.driver.performed.length;
    const man = await startForeignServer((_request, response) => problem(response, 403, { ...REMOVED, ...body }));
    const agent = await restart(man.url);
    await vi.waitFor(() => expect(agent.status().problems.join()).toContain('without proof'), 20_000);
    expect(man.secrets.length).toBeGreaterThan(0);
    const before = man.secrets.length;
    await vi.waitFor(() => expect(man.secrets.length).toBeGreaterThan(before), 20_000);
    // Nothing was wiped, and its view is still in force.
    expect(rack.driver.performed).toHaveLength(performed);
    expect(agent.status().digest).toBeDefined();
    expect(await rack.disk.read('identity')).not.toContain('"left"');
  };

  test('is-not-believed-when-it-is-not-signed', () => forged({}));

  test('is-not-trusted-when-another-key-has-signed-it', async () => {
    const signer = ed25519Signer();
    const statement: Statement = {
      kind: 'refusal',
      journalId: 'journal-1',
      host: 'c1',
      token: 'tk-journal-1-000002.agent',
      code: 'host-removed',
    };
    await forged({ statement: signStatement(signer, statement) });
  });

  test.each<[string, object]>([
    ['an-earlier-incarnation', { token: 'tk-before.agent' }],
    ['another-host', { host: 'c2' }],
    ['another-journal', { journalId: 'journal-0' }],
    ['another-refusal', { code: 'credential-superseded' }],
  ])('is-not-believed-when-it-was-signed-about-%s', async (_name, about) => {
    const world = await joined();
    const { rack, plane, restart } = world;
    const identity = JSON.parse((await rack.disk.read('identity'))!) as { current: { token: string } };
    const statement = {
      kind: 'refusal',
      journalId: plane.leader.journal.journalId,
      host: 'c1',
      token: identity.current.token,
      code: 'host-removed',
      ...about,
    } as Statement;
    const signed = signStatement(plane.signer!, statement);
    const man = await startForeignServer((_request, response) =>
      problem(response, 403, { ...REMOVED, statement: signed }),
    );
    const agent = await restart(man.url);
    await vi.waitFor(() => expect(agent.status().problems.join()).toContain('without proof'), 20_000);
    expect(await rack.disk.read('identity')).not.toContain('"left"');
  });
});

test('a-word-that-the-control-plane-has-signed-counts-over-plain-http', async () => {
  const { plane, url, rack, restart } = await joined();
  const agent = await restart(url);
  await plane.commit((fleet) => {
    const host = findHost(fleet, 'c1')!;
    return accept([put(HOST, host.id, { ...host.doc, state: 'removed' })], null);
  });
  await vi.waitFor(() => expect(agent.status().refusal?.code).toBe('host-removed'), 20_000);
  await vi.waitFor(async () => expect(await rack.disk.read('identity')).toContain('"left":true'), 20_000);
});

test('a-forged-view-is-not-taken-over-plain-http', async () => {
  const { url, rack, restart } = await joined();
  const kept = JSON.parse((await rack.disk.read('view'))!) as { view: { stamp: { revision: number } } };
  const forged = {
    ...kept.view,
    stamp: { ...kept.view.stamp, revision: kept.view.stamp.revision + 10 },
    digest: 'forged',
    parts: {},
    tasks: [{ id: 'x:c1:1', kind: 'leave', args: {} }],
  };
  const man = await startForeignServer((request, response) => {
    if (request.url?.includes('/agent/view') === true) response.end(JSON.stringify({ kind: 'view', view: forged }));
    else response.end('{"report":"known"}');
  });
  const performed = rack.driver.performed.length;
  const agent = await restart(man.url);
  await vi.waitFor(() => expect(agent.status().problems.join()).toContain('without proof'), 20_000);
  expect(agent.status().digest).not.toBe('forged');
  expect(rack.driver.performed).toHaveLength(performed);
  const again = await restart(url);
  await vi.waitFor(() => expect(again.status().problems).toEqual([]), 20_000);
});

describe('a server that sends an agent on', () => {
  test('to-an-address-that-was-not-configured-is-not-followed', async () => {
    const { restart } = await joined();
    const thief = await startForeignServer((_request, response) => response.end('{"report":"known"}'));
    const man = await startForeignServer((_request, response) =>
      problem(response, 421, { code: 'not-holder', holder: thief.url, leaseEpoch: 99 }),
    );
    const agent = await restart(man.url);
    await vi.waitFor(() => expect(man.secrets.length).toBeGreaterThan(2), 20_000);
    expect(thief.secrets).toEqual([]);
    expect(agent.status()).toMatchObject({ server: man.url, isServerUnreachable: true });
  });

  test('to-one-that-the-join-answer-has-named-is-followed', async () => {
    const { url, restart } = await joined();
    const man = await startForeignServer((_request, response) =>
      problem(response, 421, { code: 'not-holder', holder: url, leaseEpoch: 1 }),
    );
    const agent = await restart(man.url);
    await vi.waitFor(() => expect(agent.status()).toMatchObject({ server: url, isServerUnreachable: false }), 20_000);
  });

  /** A second server starts after the join. An attacker in a server's place names it, and it names the holder, which no other does. */
  async function laterServer() {
    const world = await joined();
    const { url: later } = await world.plane.listen('s2');
    const man = await startForeignServer((_request, response) =>
      problem(response, 421, { code: 'not-holder', holder: later, leaseEpoch: 99 }),
    );
    return { ...world, later, man };
  }

  test('to-one-that-started-later-and-that-a-view-has-named-is-followed', async () => {
    const { url, later, man, rack, restart } = await laterServer();
    await restart(url);
    await vi.waitFor(async () => expect(await rack.disk.read('identity')).toContain(later), 20_000);
    const agent = await restart(man.url);
    await vi.waitFor(() => expect(agent.status()).toMatchObject({ server: url, isServerUnreachable: false }), 20_000);
  });

  test('to-one-that-started-later-and-that-no-view-has-named-yet-is-not-followed', async () => {
    const { later, man, rack, restart } = await laterServer();
    const agent = await restart(man.url);
    await vi.waitFor(() => expect(man.secrets.length).toBeGreaterThan(3), 20_000);
    expect(agent.status()).toMatchObject({ server: man.url, isServerUnreachable: true });
    expect(await rack.disk.read('identity')).not.toContain(later);
  });

  test('to-one-that-the-control-plane-has-signed-for-is-followed', async () => {
    const { plane, restart } = await joined();
    const moved = await startForeignServer((_request, response) => response.end('{"report":"known"}'));
    const { journalId } = plane.leader.journal;
    const statement = signStatement(plane.signer!, { kind: 'holder', journalId, url: moved.url, leaseEpoch: 99 });
    const man = await startForeignServer((_request, response) =>
      problem(response, 421, { code: 'not-holder', holder: moved.url, leaseEpoch: 99, statement }),
    );
    await restart(man.url);
    await vi.waitFor(() => expect(moved.secrets.length).toBeGreaterThan(0), 20_000);
  });

  test('from-https-to-http-is-not-followed-though-the-address-is-configured', async () => {
    const tls = await selfSigned();
    const { plane, rack } = await joined();
    const thief = await startForeignServer((_request, response) => response.end('{"report":"known"}'));
    const man = await startForeignServer(
      (_request, response) => problem(response, 421, { code: 'not-holder', holder: thief.url, leaseEpoch: 99 }),
      tls,
    );
    const { journalId } = plane.leader.journal;
    const link = new HttpLink({ ca: tls.cert });
    onTestFinished(() => link.close());
    const identity = JSON.parse((await rack.disk.read('identity'))!) as { current: { trust: { servers: string[] } } };
    identity.current.trust.servers.push(thief.url);
    await rack.disk.write('identity', sealJson({ current: identity.current }));
    expect(journalId).toBe('journal-1');
    rack.start({ link, verify: verifyEd25519, log: QUIET }, { servers: [man.url], heartbeatMs: 50 });
    await vi.waitFor(() => expect(man.secrets.length).toBeGreaterThan(2), 20_000);
    expect(thief.secrets).toEqual([]);
  });

  test('by-a-redirect-is-not-followed', async () => {
    const thief = await startForeignServer((_request, response) => response.end('{"report":"known"}'));
    const man = await startForeignServer((_request, response) =>
      response.writeHead(307, { location: thief.url }).end(),
    );
    const link = new HttpLink();
    onTestFinished(() => link.close());
    const to = { server: man.url, secret: 'mst_tk-1_secret' };
    await expect(link.heartbeat(to, { serviceVersion: 1 })).rejects.toThrow(LinkDown);
    expect(thief.secrets).toEqual([]);
  });
});

describe('plain http to another machine', () => {
  test.each(['http://192.0.2.1:7070', 'http://127.evil.example:7070', 'http://localhost.evil.example'])(
    '%s-is-refused-before-anything-is-sent',
    async (server) => {
      const link = new HttpLink();
      onTestFinished(() => link.close());
      await expect(link.heartbeat({ server, secret: 's' }, { serviceVersion: 1 })).rejects.toThrow(/another machine/);
    },
  );

  test('is-refused-by-the-program-and-says-what-to-do', async () => {
    const started = await run(['agent', '--state', newFolder(), '--simulate', '--server', 'http://192.0.2.1:7070']);
    expect(started).toMatchObject({ code: 1 });
    expect(started.err).toContain('in clear text');
    expect(started.err).toContain('--insecure');
  });
});
