// The package.json of the tarball: what is needed to install and start, nothing of how it was built.

const KEPT = [
  'name',
  'version',
  'description',
  'license',
  'type',
  'bin',
  'engines',
  'dependencies',
  'optionalDependencies',
] as const;

export function trimManifest(manifest: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(KEPT.map((key) => [key, manifest[key]]));
}
