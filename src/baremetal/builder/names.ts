// Names by which the parts of bare-metal builds know each other.

/** In the documents of instances that are built here. */
export const BARE_METAL = 'bare-metal';

export const BUILD_KIND = 'baremetal-build';
export const DELETE_KIND = 'baremetal-delete';
export const RELEASE_KIND = 'baremetal-release';
export const POWER_KIND = 'baremetal-power';

/** The first step of a build: its manager requests a node. */
export const RESERVE_STEP = 'reserve';
