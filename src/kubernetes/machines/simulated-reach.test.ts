// The reach of simulated machines passes the contract suite of reaches.
import { MemoryCluster } from '../cluster-api/simulated/memory-cluster.ts';
import { describeReach } from './contract.ts';
import { SimulatedReach } from './simulated-reach.ts';

describeReach('simulated', async () => {
  const cluster = new MemoryCluster('edge', () => 1_000_000);
  return {
    reach: new SimulatedReach(cluster),
    call: { cluster: 'edge', node: 'edge-1', providerId: 'muster:///edge/edge-1', token: 'abcdef.0123456789abcdef' },
    isJoined: async () => cluster.look().readNode('edge-1') !== undefined,
  };
});
