/** The steps of `join`, each by itself: what kubeadm's users know as `join phase`. */
import { thisMachine, thisProcess } from '#base/machine.ts'
import type { OptionValues } from '#base/options.ts'
import { markControlPlane } from '#cmd/init/init.ts'
import type { joinOptions } from '#cmd/join/command.ts'
import { discoverCluster } from '#cmd/join/discover.ts'
import { becomeNode } from '#cmd/join/join.ts'
import { joinAsControlPlane, prepareControlPlane } from '#cmd/join/join-control-plane.ts'
import { runNode } from '#cmd/node/run-node.ts'
import { withAdminClient } from '#cmd/running/admin-client.ts'

type Options = OptionValues<typeof joinOptions>
type Phase = { summary: string; run(url: string, options: Options): Promise<void> }

const nameOf = (options: Options): string => (options.nodeName || thisMachine().hostname).toLowerCase()

const phases: Readonly<Record<string, Phase>> = {
  preflight: {
    summary: 'check that the cluster is there and can be believed',
    run: async (url, { token, discoveryHash }) => {
      const { server } = await discoverCluster(new URL(url).origin, token, discoveryHash)
      thisProcess.print(`${server} is a cluster that the token fits`)
    },
  },
  'control-plane-prepare': { summary: "bring the cluster's keys and options to this machine", run: prepareControlPlane },
  'control-plane-start': { summary: 'run as a control plane', run: (url, options) => joinAsControlPlane(url || undefined, options) },
  'kubelet-prepare': {
    summary: 'ask for the certificate of a node, and lay down what it needs',
    run: (url, options) => becomeNode(new URL(url).origin, nameOf(options), options),
  },
  'kubelet-start': { summary: 'run the node', run: (_url, options) => runNode({ dataDir: options.dataDir, name: nameOf(options) }) },
  'mark-control-plane': {
    summary: 'label the node of this machine as a control plane',
    run: (_url, { dataDir }) => withAdminClient({ dataDir, kubeconfig: '' }, (client) => markControlPlane(client)),
  },
}

export async function runJoinPhases(words: readonly string[], options: Options): Promise<void> {
  const url = words.find((word) => word.includes('://')) ?? ''
  const names = words.filter((word) => word !== url)
  if (names.length === 0 || names[0] === 'list') {
    for (const [name, { summary }] of Object.entries(phases)) thisProcess.print(`${name.padEnd(24)}${summary}`)
    return
  }
  const unknown = names.find((name) => phases[name] === undefined)
  if (unknown !== undefined) throw new Error(`join phase: ${unknown} is none of ${Object.keys(phases).join(', ')}`)
  for (const name of names) await phases[name]?.run(url, options)
}
