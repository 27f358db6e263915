// The decisions of this room that the product reaches by routes only, for tests of several rooms together.
export { createFlavor, type CreateFlavor } from './catalog/flavors.ts';
export { createGroup, type CreateGroup } from './catalog/groups.ts';
