// Wraps the driver of nodes, so that each call to a cluster is known by the operation that it is for; and loses its answers now and then, whatever it did.
import { NODES_DRIVER, toTroubleOutcome, type NodeOrder } from '../../../src/kubernetes/drain/node-order.ts';
import type { Driver } from '../../../src/operations/index.ts';
import type { World } from '../world.ts';

export function noteActing(world: World, name: string, driver: Driver): Driver {
  if (name !== NODES_DRIVER) return driver;
  return {
    ...(driver.maxConcurrent !== undefined && { maxConcurrent: driver.maxConcurrent }),
    carryOut: async (action, fence) => {
      const order = action.args as unknown as NodeOrder;
      const { operation, deadlineAtMs } = fence;
      world.actingOrders.set(fence.signal, { operation, deadlineAtMs, item: action.item, order });
      const outcome = await driver.carryOut(action, fence);
      const cluster = world.clusters.find((one) => one.name === order.cluster);
      if (cluster === undefined || cluster.lostReplyPercent === 0) return outcome;
      if (!cluster.rng.chance(cluster.lostReplyPercent / 100)) return outcome;
      world.fault(cluster.name, `${order.op} of ${order.node} driver-reply-lost`);
      const reason = { code: 'cluster-unreachable', cluster: order.cluster, node: order.node, text: 'no answer' };
      return toTroubleOutcome({ kind: 'trouble', trouble: 'away', reason });
    },
  };
}
