// What a Debian package says of itself. Text only: nothing here looks at the machine.

/** Whoever builds packages for others puts a real address here. */
const MAINTAINER = 'Muster maintainers <maintainers@muster.invalid>';

export interface PackageFacts {
  readonly version: string;
  readonly architecture: string;
  readonly builtAtMs: number;
}

export function controlFile({
  version,
  architecture,
  installedKiB,
}: PackageFacts & { readonly installedKiB: number }): string {
  return `Package: muster
Version: ${version}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
Installed-Size: ${Math.ceil(installedKiB)}
Depends: adduser, libc6 (>= 2.28), libstdc++6 (>= 9), libgcc-s1
Suggests: openvswitch-switch (>= 3.1), patroni, postgresql, prometheus
Section: admin
Priority: optional
Description: control plane that brings compute nodes into service and out again
 Muster joins compute nodes to a fleet, places instances with their networks,
 and empties nodes before they leave, without dropping what runs on them.
 .
 This package has the server, the agent for compute nodes and the command
 line, with the Node runtime that they are pinned to. Neither service is
 started before it is enabled.
`;
}

export function changelogFile({ version, builtAtMs }: PackageFacts): string {
  const date = new Date(builtAtMs).toUTCString().replace('GMT', '+0000');
  return `muster (${version}) bookworm; urgency=medium

  * See changelog.gz for what is new in this version.

 -- ${MAINTAINER}  ${date}
`;
}

export function copyrightFile(version: string): string {
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: muster
Comment: version ${version}

Files: *
Copyright: 2026 the Muster authors
License: Apache-2.0

Files: usr/lib/muster/runtime/node
Copyright: 2009-2026 Node.js contributors and the authors of its bundled libraries
License: Expat
Comment: the unchanged runtime of the npm package "node"

Files: usr/lib/muster/node_modules/*
Copyright: 2009-2026 the authors named in each package
License: Expat or Apache-2.0 or BSD or ISC
Comment: each package has its licence text beside it

License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.

License: Expat
 Permission is hereby granted, free of charge, to any person obtaining a copy
 of this software and associated documentation files (the "Software"), to deal
 in the Software without restriction, including without limitation the rights
 to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 copies of the Software, and to permit persons to whom the Software is
 furnished to do so, subject to the following conditions:
 .
 The above copyright notice and this permission notice shall be included in
 all copies or substantial portions of the Software.
 .
 THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 SOFTWARE.

License: Expat or Apache-2.0 or BSD or ISC
 See the file LICENSE in the folder of each package.
`;
}
