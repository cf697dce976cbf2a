/** The steps of `init`, each by itself: what kubeadm's users know as `init phase`. */
import { thisProcess } from '#base/machine.ts'
import { layCertificates, layKubeconfigs } from '#cmd/control-plane/lay-keys.ts'
import { layStaticPods, type StaticPodOptions, staticPodsOf } from '#cmd/control-plane/lay-static-pods.ts'
import {
  type ClusterFacts,
  type InitOptions,
  joinCommand,
  markControlPlane,
  offerCertificates,
  offerToken,
  uploadConfig,
} from '#cmd/init/init.ts'
import { withAdminClient } from '#cmd/running/admin-client.ts'
import type { UpOptions } from '#cmd/up/options.ts'

export type PhaseOptions = InitOptions & StaticPodOptions
type Phase = { summary: string; run(options: UpOptions, init: PhaseOptions): Promise<void> }

/** In the order in which `init` does them. */
const phases: Readonly<Record<string, Phase>> = {
  certs: { summary: 'make the authorities, keys and certificates that are missing', run: layCertificates },
  kubeconfig: { summary: 'write kubeconfigs of the admin, the controller manager and the scheduler', run: layKubeconfigs },
  'control-plane': {
    summary: 'write static pods of the control plane, and of etcd with --store etcd (--manifests-dir, --control-plane-image)',
    run: (options, init) => layStaticPods(options, init),
  },
  'upload-config': {
    summary: 'put the config maps and roles that others join with into the cluster',
    run: (options) => withCluster(options, async (facts) => uploadConfig({ ...facts, staticPods: await staticPodsOf(options.dataDir) })),
  },
  'upload-certs': {
    summary: 'offer the keys to further control planes, and print the key they are encrypted with',
    run: (options, init) => withCluster(options, async (facts) => thisProcess.print(await offerCertificates(facts, init))),
  },
  'mark-control-plane': {
    summary: 'label the node of this machine as a control plane',
    run: (options) => withCluster(options, ({ client }) => markControlPlane(client)),
  },
  'bootstrap-token': {
    summary: 'make a token to join with, and print it',
    run: (options, init) => withCluster(options, async ({ client }) => thisProcess.print(await offerToken(client, init))),
  },
  'show-join-command': {
    summary: 'make a token, and print the command by which others join',
    run: (options, init) =>
      withCluster(options, async ({ client, url, authorityPem }) =>
        thisProcess.print(joinCommand(url, await offerToken(client, init), authorityPem)),
      ),
  },
}

export async function runInitPhases(names: readonly string[], options: UpOptions, init: PhaseOptions): Promise<void> {
  if (names.length === 0 || names[0] === 'list') {
    for (const [name, { summary }] of Object.entries(phases)) thisProcess.print(`${name.padEnd(20)}${summary}`)
    return
  }
  const unknown = names.find((name) => phases[name] === undefined)
  if (unknown !== undefined) throw new Error(`init phase: ${unknown} is none of ${Object.keys(phases).join(', ')}`)
  for (const name of names) await phases[name]?.run(options, init)
}

function withCluster(options: UpOptions, use: (facts: ClusterFacts) => Promise<void>): Promise<void> {
  return withAdminClient(options, (client, { url, connection }) => use({ client, url, authorityPem: String(connection.ca ?? ''), options }))
}
