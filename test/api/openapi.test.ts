// The committed description is what is served, and the types of the command line are those of the description. `npm run openapi` updates both.
import { format } from 'prettier';
import { expect, test } from 'vitest';
import { describeApi } from '../../src/api/runtime.ts';
import { writeCliTypes, type ApiDescription } from '../../scripts/cli-types.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { startApiTestServer } from './api-test-server.ts';

test('docs/openapi.json is current', async () => {
  const world = await startApiTestServer();
  const description = describeApi(world.server.routes, packageJson.version);
  const text = await format(JSON.stringify(description), { parser: 'json', printWidth: 120 });
  await expect(text).toMatchFileSnapshot('../../docs/openapi.json');
  await world.close();
});

test('the answers that the command line reads are typed from the description', async () => {
  const world = await startApiTestServer();
  const description = describeApi(world.server.routes, packageJson.version);
  const text = writeCliTypes(JSON.parse(JSON.stringify(description)) as ApiDescription);
  const formatted = await format(text, { parser: 'typescript', printWidth: 120, singleQuote: true });
  await expect(formatted).toMatchFileSnapshot('../../src/cli/client/representations.ts');
  await world.close();
});

test('every operation has its own name, and every path parameter is described', async () => {
  const world = await startApiTestServer();
  const answer = await world.server.app.inject({ url: '/api/v1/openapi.json' });
  const { paths } = answer.json<{
    paths: Record<string, Record<string, { operationId: string; parameters: { name: string; in: string }[] }>>;
  }>();
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).map((one) => ({ path, ...one })),
  );
  expect(operations).toHaveLength(world.server.routes.length);
  expect(new Set(operations.map((one) => one.operationId)).size).toBe(operations.length);
  for (const { path, parameters } of operations) {
    const inPath = parameters.filter((one) => one.in === 'path').map((one) => `{${one.name}}`);
    expect([...path.matchAll(/\{[a-zA-Z]+\}/g)].map((match) => match[0])).toEqual(inPath);
  }
  await world.close();
});
