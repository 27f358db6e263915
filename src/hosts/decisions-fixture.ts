// The decisions of this room that the product reaches by routes only, for tests of several rooms together.
export { editHost } from './decide.ts';
export { previewScaleIn, type ScaleInPreview } from './preview/preview.ts';
export { reAdmitHost } from './join/re-admit.ts';
export type { EndScaleIn, RecoverHosts, StartScaleIn } from './scale-in/decide.ts';
