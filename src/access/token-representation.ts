// How tokens are shown: without the hash, to administrators of the whole fleet.
import { TOKEN, TokenDoc, type Token } from './model.ts';
import { defineRepresentation, noProject, wholeFleet } from './representation.ts';

const { hash: _hidden, ...shownFields } = TokenDoc.properties;

/** Tokens are the whole fleet's: no site-bound caller sees them. */
export const TOKEN_REPRESENTATION = defineRepresentation<'token', Token>({
  kind: TOKEN,
  access: 'admin',
  siteOf: wholeFleet,
  projectOf: noProject,
  toJson: ({ hash: _, ...shown }) => shown,
  fields: shownFields,
});
