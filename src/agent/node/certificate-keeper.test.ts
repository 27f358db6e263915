// The agent's certificate over months of virtual time: real keys and certificates, no sockets.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import {
  CertificateIssuer,
  CertificateKeeper,
  DiskFailed,
  LeaderClient,
  LinkDown,
  newCertificateAuthority,
  readAuthority,
  type IssuedCertificate,
  type IssuingKeys,
  type KeyPair,
  type Reply,
} from '../../link/index.ts';
import { StateMemoryDisk } from './state/memory-disk.ts';
import { AgentStateStore } from './state/agent-state-store.ts';
import type { AgentPorts, FileName } from './ports.ts';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';

const DAY_MS = 24 * 3600 * 1000;
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

function keysWith(serial: number, nowMs: number): IssuingKeys {
  const { certificate, pem } = newCertificateAuthority(nowMs);
  return { serial, authority: readAuthority(certificate, pem), authorities: [certificate] };
}

/** A disk that refuses one file. */
class RefusingDisk extends StateMemoryDisk {
  refuses: FileName | undefined;

  override write(...args: Parameters<StateMemoryDisk['write']>): Promise<void> {
    return args[0] === this.refuses ? Promise.reject(new DiskFailed('disk full')) : super.write(...args);
  }
}

const REQUESTER = { token: 'tk-1', credential: 'mst_tk-1_secret' };

class World {
  readonly clock = new VirtualClock();
  readonly disk = new RefusingDisk();
  readonly #memory = new AgentStateStore(this.disk, log);
  keys = keysWith(1, this.clock.nowMs());
  readonly #issuer = new CertificateIssuer(() => this.keys, this.clock);
  readonly shown: (KeyPair | undefined)[] = [];
  renewals = 0;
  /** What the server does instead of issuing one. */
  instead: (() => Reply<IssuedCertificate>) | undefined;
  keeper: CertificateKeeper;
  #stopping = new AbortController();
  #ended: Promise<void> = Promise.resolve();

  constructor() {
    this.keeper = this.#newKeeper();
  }

  #newKeeper(): CertificateKeeper {
    const certificates = {
      renew: async (
        _to: unknown,
        { certificateRequest }: { certificateRequest: string },
      ): Promise<Reply<IssuedCertificate>> => {
        this.renewals += 1;
        return this.instead?.() ?? { kind: 'answer', answer: this.#issue(certificateRequest) };
      },
      present: (pair: KeyPair | undefined) => void this.shown.push(pair),
    };
    const link = { certificates, isAuthenticated: () => true };
    const ports = { link, clock: this.clock, random: () => 0.5, log } as unknown as AgentPorts;
    const parts = { leader: new LeaderClient(['https://s1'], log), store: this.#memory, program: 'agent' };
    return new CertificateKeeper(ports, parts);
  }

  #issue(request: string): IssuedCertificate {
    const read = this.#issuer.verifyRequest(request);
    if ('code' in read) throw new Error(read.message);
    return this.#issuer.issue(read, { kind: 'host', name: 'c1' });
  }

  async start(): Promise<void> {
    this.keeper = this.#newKeeper();
    await this.keeper.load(REQUESTER.token);
    this.#stopping = new AbortController();
    this.#ended = this.keeper.run(() => REQUESTER, this.#stopping.signal);
    await this.clock.settle();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  /** Whom the certificate on disk is for. It is the one that is shown, and it belongs to its key. */
  async heldHost(): Promise<string | undefined> {
    const kept = JSON.parse((await this.disk.read('certificate')) ?? 'null') as KeyPair | null;
    if (kept === null) return undefined;
    const certificate = new X509Certificate(kept.certificate);
    expect(certificate.checkPrivateKey(createPrivateKey(kept.key))).toBe(true);
    expect(this.shown.at(-1)).toMatchObject({ key: kept.key, certificate: kept.certificate });
    const isOurs = certificate.verify(new X509Certificate(this.keys.authorities[0]!).publicKey);
    return isOurs ? /^URI:muster:host:(.*)$/.exec(certificate.subjectAltName ?? '')?.[1] : undefined;
  }
}

let world: World;
afterEach(() => world.stop());

test('one-is-asked-for-at-once-renewed-before-it-ends-and-shown-again-after-a-restart', async () => {
  world = new World();
  const { clock } = world;
  await world.start();
  expect(await world.heldHost()).toBe('c1');
  expect(world.renewals).toBe(1);
  await clock.pass(18 * DAY_MS);
  expect(world.renewals).toBe(1);
  await clock.pass(2 * DAY_MS);
  expect(world.renewals).toBe(2);
  expect(await world.heldHost()).toBe('c1');
  expect(world.shown[0]!.key).not.toBe(world.shown[1]!.key);

  await world.stop();
  await world.start();
  expect(world.shown).toHaveLength(3);
  expect(world.shown[2]).toMatchObject({ certificate: world.shown[1]!.certificate });
  expect(world.renewals).toBe(2);
  // For years, whatever the clock of the server says.
  await clock.pass(360 * DAY_MS);
  expect(world.renewals).toBeGreaterThanOrEqual(2 + 18);
  expect(world.renewals).toBeLessThanOrEqual(2 + 22);
});

test('one-of-another-credential-is-not-shown', async () => {
  world = new World();
  await world.start();
  await world.stop();
  const [held] = world.shown.splice(0);
  const file = JSON.parse((await world.disk.read('certificate'))!) as object;
  world.disk.forgetCopies();
  await world.disk.write('certificate', JSON.stringify({ ...file, token: 'tk-0' }));
  await world.start();
  expect(world.shown[0]!.certificate).not.toBe(held!.certificate);
  expect(world.renewals).toBe(2);
});

test.each([
  ['damaged', { certificate: 'nothing' }],
  ['of-another-key', { key: 'nothing' }],
])('a-certificate-that-is-%s-is-replaced', async (_name, damage) => {
  world = new World();
  await world.start();
  await world.stop();
  const file = JSON.parse((await world.disk.read('certificate'))!) as object;
  world.disk.forgetCopies();
  await world.disk.write('certificate', JSON.stringify({ ...file, ...damage }));
  await world.start();
  expect(await world.heldHost()).toBe('c1');
  expect(world.renewals).toBe(2);
});

test.each<[string, (text: string) => string]>([
  ['damaged', (text) => text.replace('"serial":1', '"serial":2')],
  ['cut-off', (text) => text.slice(0, 100)],
  ['empty', () => ''],
  ['of-another-key', (text) => JSON.stringify({ ...(JSON.parse(text) as object), key: 'nothing', sha256: undefined })],
])('its-copy-is-shown-where-it-is-%s: with none, no other one may be had', async (_name, damage) => {
  world = new World();
  await world.start();
  await world.stop();
  const [last] = world.shown.splice(0);
  await world.disk.write('certificate', damage((await world.disk.read('certificate')) ?? ''));
  await world.start();
  expect(world.shown[0]).toMatchObject({ certificate: last?.certificate, key: last?.key });
  await world.clock.pass(20 * DAY_MS);
  expect(await world.heldHost()).toBe('c1');
  expect(world.renewals).toBe(2);
});

test('a-server-that-is-away-is-asked-again-and-the-certificate-stays-until-then', async () => {
  world = new World();
  const { clock } = world;
  await world.start();
  const first = world.keeper.current;
  world.instead = () => {
    throw new LinkDown('no route');
  };
  await clock.pass(18.6 * DAY_MS);
  const before = world.renewals;
  expect(before).toBeGreaterThan(3);
  // The backoff is bounded from both sides.
  await clock.pass(3_600_000);
  expect(world.renewals - before).toBeGreaterThan(50);
  expect(world.renewals - before).toBeLessThan(125);
  expect(world.keeper.current).toEqual(first);
  world.instead = undefined;
  await clock.pass(120_000);
  expect(world.keeper.current!.expiresAtMs).toBeGreaterThan(first!.expiresAtMs);
});

test('a-rotation-gives-it-one-of-the-new-authority', async () => {
  world = new World();
  await world.start();
  world.keeper.noteRotation(1);
  await world.clock.pass(120_000);
  expect(world.renewals).toBe(1);
  world.keys = keysWith(2, world.clock.nowMs());
  world.keeper.noteRotation(2);
  await world.clock.pass(60_000);
  expect(world.keeper.current?.serial).toBe(2);
  expect(await world.heldHost()).toBe('c1');
  expect(world.renewals).toBe(2);
});

test('a-server-that-was-not-given-the-rotated-keys-is-not-asked-again-and-again, and-says-nothing-new', async () => {
  world = new World();
  await world.start();
  world.keeper.noteRotation(2);
  for (let minutes = 0; minutes < 60; minutes += 1) {
    await world.clock.pass(60_000);
    // Another server still names the former keys.
    world.keeper.noteRotation(1);
    world.keeper.noteRotation(2);
  }
  expect(world.renewals).toBeGreaterThan(30);
  expect(world.renewals).toBeLessThan(130);
  world.keys = keysWith(2, world.clock.nowMs());
  await world.clock.pass(120_000);
  expect(world.keeper.current?.serial).toBe(2);
  const { renewals } = world;
  await world.clock.pass(DAY_MS);
  expect(world.renewals).toBe(renewals);
});

test('one-that-a-server-refuses-is-replaced-at-once-and-never-without-a-pause', async () => {
  world = new World();
  const { clock } = world;
  await world.start();
  world.keeper.onRefused();
  await clock.settle();
  expect(world.renewals).toBe(2);
  for (let seconds = 0; seconds < 3600; seconds += 1) {
    await clock.pass(1000);
    world.keeper.onRefused();
  }
  expect(world.renewals).toBeGreaterThan(50);
  expect(world.renewals).toBeLessThan(130);
  world.keeper.onAccepted();
  await clock.pass(120_000);
  const { renewals } = world;
  await clock.pass(DAY_MS);
  expect(world.renewals).toBe(renewals);
});

test('a-server-that-issues-none-is-asked-now-and-then-and-nothing-is-wrong-with-the-host', async () => {
  world = new World();
  world.instead = () => ({ kind: 'refused', code: 'agent-certificates-off', message: 'none here' });
  await world.start();
  await world.clock.pass(DAY_MS);
  expect(world.renewals).toBeLessThanOrEqual(25);
  expect(world.keeper.current).toBeUndefined();
  expect(world.keeper.problems).toEqual([]);
});

test('never: a certificate is shown that is not on disk', async () => {
  world = new World();
  const { clock, disk } = world;
  await world.start();
  disk.refuses = 'certificate';
  await clock.pass(18.6 * DAY_MS);
  expect(world.renewals).toBeGreaterThan(2);
  expect(world.shown).toHaveLength(1);
  expect(world.keeper.problems).toEqual(['disk full']);
  disk.refuses = undefined;
  await clock.pass(120_000);
  expect(world.shown).toHaveLength(2);
  expect(world.keeper.problems).toEqual([]);
});
