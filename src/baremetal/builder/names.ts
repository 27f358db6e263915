// Names by which the parts of bare-metal builds know each other.

/** In the documents of instances that are built here. */
export const BARE_METAL = 'bare-metal';

/** The first step of a build: its manager asks for a node. */
export const RESERVE_STEP = 'reserve';
