// The decisions of this room, for tests of several rooms together. The product reaches them by routes only.
export { createNetwork, type CreateNetwork } from './decide-network.ts';
export { createPort, type CreatePort } from './decide-port.ts';
export { deleteRouter, type CreateRouter } from './decide-router.ts';
export { createSegment, type CreateSegment } from './decide-segment.ts';
export { createSubnet, editSubnet, type CreateSubnet } from './decide-subnet.ts';
export { deletePort } from './port-delete.ts';
