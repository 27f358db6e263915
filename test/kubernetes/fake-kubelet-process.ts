// A fake kubelet as a process of its own: `fake-kubelet-process.ts KUBECONFIG NODE`. KUBELET_EXTRA_ARGS may give it a provider id, as Debian's unit would.
// However it is ended, the API is not notified: its node stays in the cluster as it was.
import { readFileSync } from 'node:fs';
import { FakeKubelet } from './fake-kubelet.ts';
import { KubeClient } from './kube-client.ts';

const [kubeconfig = '', name = ''] = process.argv.slice(2);
const providerId = /--provider-id=(\S+)/.exec(process.env['KUBELET_EXTRA_ARGS'] ?? '')?.[1];
const kubelet = new FakeKubelet({
  client: KubeClient.of(readFileSync(kubeconfig, 'utf8')),
  name,
  ...(providerId !== undefined && { providerId }),
});
await kubelet.start();
