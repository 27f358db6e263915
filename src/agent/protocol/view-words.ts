// In which words a view is written for an agent that may be of the version before: version 0.1.0 has other names for a handover and for the part
// for BFD. An agent says with each request for its view that it knows those of today. Over HTTP it does so in the media type that it
// accepts, which a server of 0.1.0 ignores: as a field of the request it would be refused there.
import { partsToFormer } from '../../dataplane/index.ts';
import type { View, ViewWords } from './messages.ts';

const PARAMETER = 'words=glossary';
const MEDIA_TYPE = `application/json;${PARAMETER}`;

/** For the request of an agent that knows these words. */
export function viewMediaType(words: ViewWords | undefined): string | undefined {
  return words === 'glossary' ? MEDIA_TYPE : undefined;
}

/** What an agent knows that accepts these media types. */
export function readViewWords(accept: string | undefined): ViewWords {
  return accept?.replaceAll(/[\s"]/g, '').split(/[;,]/).includes(PARAMETER) === true ? 'glossary' : 'former';
}

/** The same object when there is nothing to translate. */
export function partsToWire(parts: View['parts'], words: ViewWords): View['parts'] {
  return words === 'former' ? partsToFormer(parts) : parts;
}
