// kill -9 of `muster restore` and `muster backup` at random moments: a target is empty or whole afterwards and never half, and nothing
// half appears under the name of a backup.
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { openSqliteStore } from '../../src/journal/sqlite/store.ts';
import { batch, mustWrite, put } from '../../src/journal/contract/world.ts';
import { storeTools } from '../../src/main/store-tools.ts';
import { newFolder, run, start, type Ended } from '../cli/muster.ts';
import { freshDatabase, postgresSuite, sql } from '../postgres/suite.ts';

const tools = storeTools('1.2.3', Date.now);
/** Large enough that most of the time of a command is spent with its content. */
const COMMITS = 400;
const DOCUMENTS_OF_A_COMMIT = 50;
const ROUNDS = 6;
/** About what a restore takes from the moment on that it has its target; some rounds end by themselves. */
const LIFE_MAX_MS = 500;

const source = join(newFolder(), 'data');
const backup = join(newFolder(), 'fleet');
let expected: Awaited<ReturnType<typeof tools.verify>>;

beforeAll(async () => {
  mkdirSync(source, { mode: 0o700 });
  const store = await openSqliteStore({ path: join(source, 'muster.db') });
  for (let nth = 0; nth < COMMITS; nth += 1) {
    const documents = Array.from({ length: DOCUMENTS_OF_A_COMMIT }, (_, at) =>
      put(`h-${nth}-${at}`, { nth, text: 'x'.repeat(300) }),
    );
    await mustWrite(store, batch(documents));
  }
  await store.close();
  expected = await tools.backup({ data: source, file: backup });
});

/** Kills a command some time after it has begun with its work; answers how it ended. */
async function killed(
  args: readonly string[],
  hasStarted: () => boolean | Promise<boolean>,
  round: number,
): Promise<Ended> {
  const command = start(args);
  while (command.child.exitCode === null && !(await hasStarted())) await setTimeout(1);
  // The first round ends it before it can be done, however fast the machine is.
  if (round > 0) await setTimeout(Math.random() * LIFE_MAX_MS);
  command.child.kill('SIGKILL');
  return command.ended;
}

type ToolOptions = Parameters<typeof tools.verify>[0];

/** A target is whole, or the restore can be run again; a server starts on it only when it is whole. */
async function expectEmptyOrWhole(request: ToolOptions, ended: Ended): Promise<'empty' | 'whole'> {
  const again = await tools.restore({ ...request, file: backup }).then(
    () => 'empty' as const,
    (error: unknown) => (error as Error).message,
  );
  if (again !== 'empty') {
    expect(again).toContain('is not empty');
    expect(ended.code === 0 || ended.signal === 'SIGKILL').toBe(true);
  } else expect(ended.signal).toBe('SIGKILL');
  const { digest: _, journalId: _id, ...same } = expected as typeof expected & { file?: string };
  const { file: _file, ...figures } = same;
  expect(await tools.verify(request)).toMatchObject({ ...figures, intact: true });
  return again === 'empty' ? 'empty' : 'whole';
}

describe('kill -9', () => {
  test('of a restore into SQLite leaves the target empty or whole', async () => {
    const outcomes: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const data = join(newFolder(), 'data');
      const path = join(data, 'muster.db');
      const ended = await killed(['restore', backup, '--data', data], () => existsSync(path), round);
      // Before anything else: what a server says of it.
      const before = await openSqliteStore({ path }).then(
        async (store) => {
          const { revision } = await store.snapshot(() => undefined);
          await store.close();
          return revision;
        },
        (error: unknown) => (error as { readonly code?: string }).code,
      );
      const outcome = await expectEmptyOrWhole({ data }, ended);
      expect(outcome === 'whole' ? [expected.revision] : [0, 'half-restored']).toContain(before);
      outcomes.push(outcome);
    }
    expect(outcomes).toContain('empty');
  });

  test.each(['fleet', 'fleet.gz'])(
    'of a backup into %s leaves no file under its name that is not whole',
    async (name) => {
      let cut = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const file = join(newFolder(), name);
        const ended = await killed(['backup', file, '--data', source], () => existsSync(`${file}.partial`), round);
        if (existsSync(file)) expect(await tools.verify({ data: '.', file })).toMatchObject({ intact: true });
        else {
          cut += 1;
          expect(ended.signal).toBe('SIGKILL');
          // What is left of it does not keep the next one from being made.
          expect(await run(['backup', file, '--data', source])).toMatchObject({ code: 0 });
          expect(await tools.verify({ data: '.', file })).toMatchObject({ intact: true, revision: expected.revision });
        }
        expect(existsSync(`${file}.partial`)).toBe(false);
        expect(statSync(file).mode & 0o777).toBe(0o600);
      }
      expect(cut).toBeGreaterThan(0);
    },
  );
});

postgresSuite('kill -9 with PostgreSQL', (postgres) => {
  test('of a restore leaves the target empty or whole', async () => {
    const outcomes: string[] = [];
    for (let round = 0; round < ROUNDS / 2; round += 1) {
      const store = await freshDatabase(postgres.url);
      const isMarked = async (): Promise<boolean> => {
        const [there] = await sql<{ yes: boolean }>(store, `SELECT to_regclass('muster.head') IS NOT NULL AS yes`);
        return there?.yes === true;
      };
      const ended = await killed(['restore', backup, '--store', store, '--data', newFolder()], isMarked, round);
      outcomes.push(await expectEmptyOrWhole({ data: '.', store }, ended));
    }
    expect(outcomes).toContain('empty');
  });
});
