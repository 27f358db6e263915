// The verb table: what start, end and recover mean for a host in each state. It is complete: decisions read it inside the commit and must
// have no rules about states besides it.
import type { HostState } from '../model.ts';

export const VERBS = ['start', 'end', 'recover'] as const;
export type ScaleInVerb = (typeof VERBS)[number];

export type VerbEffect =
  /** To draining. */
  | { readonly act: 'tombstone' }
  /** To finalizing if the evidence holds, else refused with what is in the way. */
  | { readonly act: 'assess' }
  /** To recovering. */
  | { readonly act: 'bring-back' }
  /** The join is cancelled: the host never was in service. */
  | { readonly act: 'forget' }
  | { readonly act: 'unchanged' }
  | { readonly act: 'refuse'; readonly because: WrongState };

/** Why a verb does not fit a state. */
export type WrongState = 'still-joining' | 'in-service' | 'past-return' | 'coming-back' | 're-admit-first';

const UNCHANGED: VerbEffect = { act: 'unchanged' };
const refuse = (because: WrongState): VerbEffect => ({ act: 'refuse', because });

export const SCALE_IN_TABLE: Readonly<Record<HostState, Readonly<Record<ScaleInVerb, VerbEffect>>>> = {
  joining: { start: refuse('still-joining'), end: { act: 'forget' }, recover: UNCHANGED },
  active: { start: { act: 'tombstone' }, end: refuse('in-service'), recover: UNCHANGED },
  draining: { start: UNCHANGED, end: { act: 'assess' }, recover: { act: 'bring-back' } },
  drained: { start: UNCHANGED, end: { act: 'assess' }, recover: { act: 'bring-back' } },
  finalizing: { start: refuse('past-return'), end: UNCHANGED, recover: refuse('past-return') },
  recovering: { start: { act: 'tombstone' }, end: refuse('coming-back'), recover: UNCHANGED },
  removed: { start: refuse('re-admit-first'), end: UNCHANGED, recover: refuse('re-admit-first') },
};
