export { GROUP_POLICIES } from './request.ts';
export type * from './request.ts';
