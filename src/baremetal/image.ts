// What of an image may be named for a machine. An inventory fetches images with its own rights, and takes whatever it is deployed with: an image is named by an id
// there or by an address, never by a file or by anything else that its programs can read, and of the properties only those below reach it.

/** Of an image service; also a plain name, which such a service or an inventory may know. */
const ID = /^(?:glance:\/\/)?[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const ADDRESS = /^https?:\/\/[^\s\\]+$/i;

/** What is wrong with it, behind its name; undefined for one that may be requested. */
export function imageProblem(image: string): string | undefined {
  if (ID.test(image)) return undefined;
  const address = ADDRESS.test(image) && URL.canParse(image) ? new URL(image) : undefined;
  if (address === undefined) return 'must be an id, such as one of Glance, or an http or https address';
  // It would be in the journal, and in every representation of the instance.
  return address.username === '' && address.password === '' ? undefined : 'must not have a user name or a password';
}

const WORD = /^[a-z0-9_-]{1,40}$/i;
const CHECKSUM = /^[a-f0-9]{32,128}$/i;

/** Those that a deploy takes, and what is wrong with a value of each. Checksums may not be addresses: what is there would be fetched too. */
const DEPLOY_PROPERTIES: Readonly<Record<string, (value: string) => string | undefined>> = {
  kernel: imageProblem,
  ramdisk: imageProblem,
  image_type: (value) => (['whole-disk', 'partition'].includes(value) ? undefined : 'must be whole-disk or partition'),
  image_checksum: checksumProblem,
  image_os_hash_value: checksumProblem,
  image_os_hash_algo: wordProblem,
  image_disk_format: wordProblem,
  image_container_format: wordProblem,
};

function checksumProblem(value: string): string | undefined {
  return CHECKSUM.test(value) ? undefined : 'must be a checksum of 32 to 128 hexadecimal digits';
}

function wordProblem(value: string): string | undefined {
  return WORD.test(value) ? undefined : 'must be a word of letters, digits and _ - (at most 40)';
}

export function isDeployProperty(name: string): boolean {
  return Object.hasOwn(DEPLOY_PROPERTIES, name);
}

/** Of a property that goes to the deploy; undefined also for one that does not. */
export function deployPropertyProblem(name: string, value: unknown): string | undefined {
  if (!isDeployProperty(name)) return undefined;
  return typeof value === 'string' ? DEPLOY_PROPERTIES[name]?.(value) : 'must be text';
}
