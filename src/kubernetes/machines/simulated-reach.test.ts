// The reach of simulated machines passes the contract suite of reaches, as does the one of tests.
import { MemoryCluster } from '../cluster-api/simulated/memory-cluster.ts';
import { describeReach } from './contract.ts';
import { MemoryMachine } from './memory-machine-fixture.ts';
import { SimulatedReach } from './simulated-reach.ts';

const CALL = { cluster: 'edge', node: 'edge-1', providerId: 'muster:///edge/edge-1', token: 'abcdef.0123456789abcdef' };

describeReach('simulated', async () => {
  const cluster = new MemoryCluster('edge', () => 1_000_000);
  const isJoined = async () => cluster.look().readNode('edge-1') !== undefined;
  return { reach: new SimulatedReach(cluster), call: CALL, isJoined };
});

describeReach('in memory', async () => {
  const reach = new MemoryMachine(new MemoryCluster('edge', () => 1_000_000));
  return { reach, call: CALL, isJoined: async () => reach.joined.has('edge-1') };
});
