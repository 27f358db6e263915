// The API representation of a service: the document, with its reason in sentences.
import { Type } from 'typebox';
import { defineRepresentation, noProject, wholeFleet } from '../access/index.ts';
import { SERVICE, SERVICE_SCHEMA, type Service } from './model.ts';
import { whySentences } from './why.ts';

/** A service belongs to the whole fleet: no site-bound caller sees it. */
export const SERVICE_REPRESENTATION = defineRepresentation<'service', Service>({
  kind: SERVICE,
  siteOf: wholeFleet,
  projectOf: noProject,
  toJson: (doc) => ({ ...doc, whySentences: whySentences(doc) }),
  fields: {
    ...SERVICE_SCHEMA.properties,
    whySentences: Type.Array(Type.String(), {
      description: 'why this host, which other candidates, and which rejections',
    }),
  },
});
