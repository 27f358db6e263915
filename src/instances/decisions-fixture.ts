// The decisions of this module that the product reaches by routes only, for tests of several modules together.
export { createFlavor, type CreateFlavor } from './catalog/flavors.ts';
export { createGroup, type CreateGroup } from './catalog/groups.ts';
