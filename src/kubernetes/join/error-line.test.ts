// Which line of a script's output is said to be why it failed.
import { expect, test } from 'vitest';
import { findErrorLine } from './error-line.ts';

const PREFLIGHT = [
  '[preflight] Running pre-flight checks',
  'error execution phase preflight: [preflight] Some fatal errors occurred:',
  '\t[ERROR FileAvailable--etc-kubernetes-kubelet.conf]: /etc/kubernetes/kubelet.conf already exists',
  '\t[ERROR Port-10250]: Port 10250 is in use',
  '[preflight] If you know what you are doing, you can make a check non-fatal with `--ignore-preflight-errors=...`',
  'To see the stack trace of this error execute with --v=5 or higher',
  '',
].join('\n');

test.each([
  [PREFLIGHT, '[ERROR FileAvailable--etc-kubernetes-kubelet.conf]: /etc/kubernetes/kubelet.conf already exists'],
  [
    "error execution phase kubelet-start: couldn't validate the identity\nTo see the stack trace …\n",
    "error execution phase kubelet-start: couldn't validate the identity",
  ],
  ['Reading lists…\nE: Unable to locate package kubelet\nSee apt-cache(8)\n', 'E: Unable to locate package kubelet'],
  ['begun\nThis script installs nothing here\n', 'This script installs nothing here'],
  ['it is done\nmount: /mnt: cannot mount\nbye\n', 'mount: /mnt: cannot mount'],
  ['', ''],
  ['\n \n', ''],
  [`${'x'.repeat(1000)}\n`, 'x'.repeat(300)],
])('%#: the first that is an error, or the last', (text, line) => {
  expect(findErrorLine(text)).toBe(line);
});
