// Decisions of this module that the product reaches only by routes, for tests of several modules together.
export { editHost } from './decide.ts';
export { previewScaleIn, type ScaleInPreview } from './preview/preview.ts';
export { reAdmitHost } from './join/re-admit.ts';
export type { EndScaleIn, RecoverHosts, StartScaleIn } from './scale-in/decide.ts';
