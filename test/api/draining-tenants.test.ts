// What lives inside instances, by the command line: it is drained where it is, and its instance waits for it with a reason.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idOf, put } from '../../src/fleet/index.ts';
import { INSTANCE } from '../../src/instances/index.ts';
import { CLAIM, claimId } from '../../src/network/index.ts';
import { crew, programWithCrews } from '../acceptance/scale-in/crews-fixture.ts';
import { run } from '../cli/muster.ts';
import { populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';
import { sampleNetwork } from './sample-network.ts';

let world: ApiTestServer;
let muster: (...words: readonly string[]) => Promise<string>;

const AMOUNTS = { vcpus: 1, memoryMiB: 1, diskGiB: 0 };

beforeEach(async () => {
  world = await startApiTestServer({ program: programWithCrews(new Set()) });
  await populate(world);
  const facts = { project: 'default', flavor: 'small', amounts: AMOUNTS, place: { site: 'central' }, nics: [] };
  const life = { attempts: [], attemptsMax: 3, wasActive: true, createdBy: 'test', createdAtMs: 1 };
  const path = { create: 'conductor', bind: 'conductor' } as const;
  await world.commit(
    ...sampleNetwork(),
    put(INSTANCE, idOf(INSTANCE, 'db'), {
      ...{ ...facts, ...life, path, name: 'db', host: 'central-0', state: 'active', changedBy: 'test', changedAtMs: 1 },
    }),
    put(CLAIM, claimId('db', 'home'), {
      ...{ ...AMOUNTS, instance: 'db', role: 'home', host: 'central-0', addresses: [], sinceMs: 1 },
    }),
    crew('db', 'central-0'),
  );
  const operator = await world.token('operator');
  const address = await world.server.app.listen({ host: '127.0.0.1', port: 0 });
  muster = async (...words) => (await run(['--server', address, '--token', operator, ...words])).out;
});
afterEach(() => world.close());

const HELD = 'wait: The crew of db leaves before the instance does.';

describe('a tenant that is drained', () => {
  test('is-said-to-be-by-hosts-tenants', async () => {
    const out = await muster('hosts', 'tenants', 'central-0');
    expect(out).toMatch(/^crew +db +drain it: what lives in it leaves$/m);
    expect(out).toMatch(new RegExp(`^instance +db +${HELD}$`, 'm'));
  });

  test('is-said-to-be-by-scale-in-preview, with what that means and takes', async () => {
    const out = await muster('scale-in', 'preview', 'central-0');
    expect(out).toMatch(/^central-0 +crew +db +be drained: what lives in it leaves$/m);
    expect(out).toMatch(new RegExp(`^central-0 +instance +db +${HELD}$`, 'm'));
    expect(out).toContain('1 crew: drained, what lives inside is started elsewhere.');
    expect(out).toContain('It should take about 1m: 1 crew drained one after the other, 60 s each (assumed).');
  });
});
