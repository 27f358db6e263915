// The decisions of this module, for tests of several modules together. The product reaches them by routes only.
export { createNetwork, type CreateNetwork } from './networks/decide.ts';
export { createPort, type CreatePort } from './ports/decide.ts';
export { deleteRouter, type CreateRouter } from './routers/decide.ts';
export { createSegment, type CreateSegment } from './networks/decide-segment.ts';
export { createSubnet, editSubnet, type CreateSubnet } from './networks/decide-subnet.ts';
export { deletePort } from './ports/delete.ts';
