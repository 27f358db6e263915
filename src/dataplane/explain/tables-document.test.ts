// The committed page is what the compiler does. `npm run tables` writes it anew.
import { format } from 'prettier';
import { expect, test } from 'vitest';
import { FLOW_REASON_SENTENCES } from './flow-reasons.ts';
import { tablesDocument } from './tables-document-fixture.ts';

test('docs/dataplane-tables.md is current', async () => {
  const text = await format(tablesDocument(), { parser: 'markdown', printWidth: 120 });
  await expect(text).toMatchFileSnapshot('../../../docs/dataplane-tables.md');
});

test('every reason for which there may be a flow is in it', () => {
  const text = tablesDocument();
  expect(Object.keys(FLOW_REASON_SENTENCES).filter((why) => !text.includes(`\`${why}\`: `))).toEqual([]);
});
