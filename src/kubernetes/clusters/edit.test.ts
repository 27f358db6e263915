// Changes to a cluster: what is absent stays, and machines are reached by SSH only with all that it takes.
import { describe, expect, test } from 'vitest';
import { idOf } from '../../fleet/index.ts';
import { WORKER_SCRIPT } from '../join/model.ts';
import { CLUSTER } from '../model.ts';
import { cluster, EDGE, WorkersWorld } from '../workers-fixture.ts';
import { editCluster, type ClusterEdit } from './edit.ts';
import { composeSshEdit, type SshEdit } from './reach-request.ts';

const NOTE = { by: 'ann', nowMs: 7 };
const LINE = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMkRpxzvZc1Y3bCEnrtS2mXBB6sg6rvkRnP0hpYHYcXk';
const SSH: SshEdit = {
  user: 'root',
  hostKeys: 'pinned',
  knownHosts: [LINE],
  proof: 'key',
  credentials: `sealed.0123456789abcdef.${'a'.repeat(40)}`,
};

async function startWorld(facts: Parameters<typeof cluster>[0] = {}): Promise<WorkersWorld> {
  const world = await WorkersWorld.of([]);
  await world.put(cluster({ kind: 'api', ...facts }));
  return world;
}

const change = (world: WorkersWorld, edit: ClusterEdit) =>
  world.commit((fleet) => editCluster(fleet, { id: EDGE, edit }, NOTE));
const refusalOf = (world: WorkersWorld, edit: ClusterEdit) =>
  world.refusal((fleet) => editCluster(fleet, { id: EDGE, edit }, NOTE));
const docOf = (world: WorkersWorld) => world.fleet.get(CLUSTER, idOf(CLUSTER, EDGE))?.doc;

describe('a reach by SSH', () => {
  test('is set by what it takes, on the usual port, and changed field by field', async () => {
    const world = await startWorld();
    await change(world, { ssh: SSH });
    expect(docOf(world)).toMatchObject({ reach: 'ssh', ssh: { ...SSH, port: 22 }, changedBy: 'ann' });
    await change(world, { ssh: { port: 2222, address: '{node}.lan', sudo: true } });
    expect(docOf(world)?.ssh).toEqual({ ...SSH, port: 2222, address: '{node}.lan', sudo: true });
    await change(world, { ssh: { address: null, sudo: false } });
    expect(docOf(world)?.ssh).toEqual({ ...SSH, port: 2222 });
    await change(world, { ssh: { hostKeys: 'first-use', knownHosts: [] } });
    expect(docOf(world)?.ssh).toMatchObject({ hostKeys: 'first-use', knownHosts: [] });
    await change(world, { reach: 'none' });
    expect(docOf(world)).toMatchObject({ reach: 'none', ssh: { user: 'root' } });
    await change(world, { reach: 'ssh' });
    expect(docOf(world)).toMatchObject({ reach: 'ssh' });
  });

  test.each([
    [{ reach: 'ssh' }, 'ssh-incomplete', '/ssh/user'],
    [{ ssh: { ...SSH, user: undefined } }, 'ssh-incomplete', '/ssh/user'],
    [{ ssh: { user: 'root', hostKeys: 'first-use' } }, 'ssh-incomplete', '/ssh/key'],
    [{ ssh: { ...SSH, hostKeys: undefined } }, 'ssh-incomplete', '/ssh/hostKeys'],
    [{ ssh: { ...SSH, knownHosts: [] } }, 'host-keys-required', '/ssh/knownHosts'],
    [{ ssh: { ...SSH, hostKeys: 'first-use' } }, 'host-keys-unused', '/ssh/knownHosts'],
    [{ reach: 'simulated', ssh: SSH }, 'ssh-unused', '/ssh'],
  ])('%j: %s', async (edit, code, field) => {
    const world = await startWorld();
    const before = world.fleet.revision;
    const said = JSON.parse(JSON.stringify(edit)) as ClusterEdit;
    expect(await refusalOf(world, said)).toMatchObject({ code, field });
    expect(world.fleet.revision).toBe(before);
  });

  const BY_PASSWORD = { ...SSH, proof: 'password' } as const;
  const OTHER_LINE = LINE.replace('IMkR', 'IMkS');

  test.each<[string, SshEdit]>([
    ['address', { address: 'evil.example' }],
    ['port', { port: 2222 }],
    ['hostKeys', { hostKeys: 'first-use', knownHosts: [] }],
    ['knownHosts', { knownHosts: [OTHER_LINE] }],
  ])('never: a password goes to other machines by another %s, unless it is given again', async (changed, ssh) => {
    const world = await startWorld();
    await change(world, { ssh: BY_PASSWORD });
    expect(await refusalOf(world, { ssh })).toMatchObject({
      ...{ code: 'ssh-password-required', field: '/ssh/password', facts: { changed } },
    });
    const again = { proof: 'password', credentials: `sealed.0123456789abcdef.${'b'.repeat(40)}` } as const;
    await change(world, { ssh: { ...ssh, ...again } });
    expect(docOf(world)?.ssh).toMatchObject({ ...ssh, ...again });
    // What it is not sent by may change.
    await change(world, { ssh: { sudo: true } });
    expect(docOf(world)?.ssh).toMatchObject({ sudo: true });
  });

  test('is not of a simulated cluster, nor of one that is not there', async () => {
    const world = await startWorld({ kind: 'simulated', reach: 'simulated' });
    expect(await refusalOf(world, { ssh: SSH })).toMatchObject({ code: 'cluster-simulated', field: '/reach' });
    const unknown = world.refusal((fleet) => editCluster(fleet, { id: 'none', edit: { reach: 'none' } }, NOTE));
    expect(await unknown).toMatchObject({ code: 'unknown-cluster' });
  });
});

describe('what Muster proves itself by', () => {
  const KEY = '-----BEGIN OPENSSH PRIVATE KEY-----\nplanted-secret\n-----END OPENSSH PRIVATE KEY-----\n';
  const seal = (text: string) => ({ sealed: `sealed:${text.length}` });

  test.each([
    [{ key: KEY }, { proof: 'key' }],
    [{ key: KEY, passphrase: 'planted-secret' }, { proof: 'key' }],
    [{ password: 'planted-secret' }, { proof: 'password' }],
    [{ user: 'root' }, { user: 'root' }],
  ])('%j', (request, edit) => {
    const composed = composeSshEdit(request, seal);
    expect(composed).toMatchObject(edit);
    expect(JSON.stringify(composed)).not.toContain('planted-secret');
  });

  test.each([
    [{ key: KEY, password: 'planted-secret' }, 'two-ssh-proofs', '/ssh/password'],
    [{ key: `${LINE} planted-secret` }, 'ssh-key-malformed', '/ssh/key'],
    [{ passphrase: 'planted-secret' }, 'passphrase-without-key', '/ssh/passphrase'],
    [{ knownHosts: [LINE, `|1|x=|y= ${LINE}`] }, 'host-key-malformed', '/ssh/knownHosts/1'],
    [{ knownHosts: [KEY] }, 'host-key-malformed', '/ssh/knownHosts/0'],
  ])('%j is refused, and not repeated', (request, code, field) => {
    const refusal = composeSshEdit(request, seal);
    expect(refusal).toMatchObject({ code, field });
    expect(JSON.stringify(refusal)).not.toContain('planted-secret');
  });
});

test('a-script-of-its-own-is-kept-beside-the-cluster, and shown by its digest', async () => {
  const world = await startWorld();
  const scriptOf = () => world.fleet.get(WORKER_SCRIPT, idOf(WORKER_SCRIPT, EDGE))?.doc.text;
  await change(world, { workerScript: { text: 'exit 0', digest: 'd1' } });
  expect([docOf(world)?.workerScript, scriptOf()]).toEqual(['d1', 'exit 0']);
  await change(world, { drainsAtOnce: 3 });
  expect([docOf(world)?.workerScript, docOf(world)?.drainsAtOnce]).toEqual(['d1', 3]);
  await change(world, { workerScript: null });
  expect([docOf(world)?.workerScript, scriptOf()]).toEqual([undefined, undefined]);
});

test('what-is-as-it-was-commits-nothing', async () => {
  const world = await startWorld();
  await change(world, { ssh: SSH, joinEndpoint: '10.0.0.1:6443', drainPolicy: { deadlineMs: 5000 } });
  expect(docOf(world)).toMatchObject({ joinEndpoint: '10.0.0.1:6443', drainPolicy: { deadlineMs: 5000 } });
  const before = world.fleet.revision;
  await change(world, { ssh: { port: 22 }, joinEndpoint: '10.0.0.1:6443' });
  expect(world.fleet.revision).toBe(before);
  await change(world, { joinEndpoint: null });
  expect(docOf(world)).not.toHaveProperty('joinEndpoint');
});
