// What a caller of one site is shown of a data plane names no host of another.
import { expect, test } from 'vitest';
import type { DataplaneView, ServiceView } from './dataplane-view.ts';
import { finish } from '../../fleet/index.ts';
import { limitToVisibleHosts } from './site-scope.ts';

const isVisible = (host: string): boolean => host.startsWith('near');
const service = (one: object): ServiceView =>
  ({ id: 's', designated: { host: 'near-1' }, ...one }) as unknown as ServiceView;

function limit(services: readonly ServiceView[]): DataplaneView {
  const view = {
    peers: [{ host: 'near-1' }, { host: 'far-1' }],
    networks: { domains: [{ ports: [{ host: 'near-1' }, { host: 'far-1' }] }] },
    services,
    bfd: { peers: ['near-1', 'far-1'] },
  } as unknown as DataplaneView;
  return finish(limitToVisibleHosts(view, isVisible));
}

test('peers, ports and BFD sessions of other sites are taken away, the others stay', () => {
  const limited = limit([]);
  expect(JSON.stringify(limited)).not.toContain('far');
  expect(limited.peers).toHaveLength(1);
  expect(limited.bfd.peers).toEqual(['near-1']);
});

test.each([
  ['a standby', { standby: 'far-1' }, { standby: 'near-2' }],
  ['the other end of a handover', { handover: { other: 'far-1' } }, { handover: { other: 'near-2' } }],
])('%s of another site is taken away, one of the same stays', (_, far, near) => {
  expect(limit([service(far)]).services).toEqual([service({})]);
  expect(limit([service(near)]).services).toEqual([service(near)]);
});

test('a service that another site provides is left out', () => {
  expect(limit([service({ designated: { host: 'far-1' } })]).services).toEqual([]);
});
