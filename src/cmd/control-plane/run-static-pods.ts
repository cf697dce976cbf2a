/** This machine's kubelet runs its control plane as static pods, as kubeadm has it. */
import { Node } from '#api/core/v1/kinds.gen.ts'
import type { WebhookTarget } from '#apiserver/authn/webhook/webhook-kubeconfig.ts'
import { nodeClientName, nodeIdentities, nodeServingName } from '#apiserver/pki/identities.ts'
import { writeKubeconfig } from '#apiserver/pki/kubeconfig.ts'
import { systemClock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import type { SocketAddress } from '#base/sockets.ts'
import type { Client } from '#client/client.ts'
import { keysOf, layCertificates, layKubeconfigs } from '#cmd/control-plane/lay-keys.ts'
import {
  areStaticPodsLaid,
  layStaticPods,
  manifestsIn,
  mustFitStaticPods,
  type StaticPodOptions,
} from '#cmd/control-plane/lay-static-pods.ts'
import { loggerOf } from '#cmd/logger-of.ts'
import { type NodeSettings, nodePaths } from '#cmd/node/node-directory.ts'
import { runNode } from '#cmd/node/run-node.ts'
import { readEtcdMember } from '#cmd/own-etcd/etcd-member.ts'
import { untilEtcdServes } from '#cmd/own-etcd/open-own-etcd.ts'
import { withAdminClient } from '#cmd/running/admin-client.ts'
import { backendOf } from '#cmd/up/choose-node.ts'
import { clusterDnsServers, machineNodeName } from '#cmd/up/cluster-addresses.ts'
import { chooseRuntime, podCgroupOf } from '#cmd/up/container-runtime.ts'
import { pluginsOf, type UpOptions } from '#cmd/up/options.ts'

const patienceMs = 5 * 60_000
const lookEveryMs = 500

export type StaticPodParts = {
  /** API servers of other machines, which the kubelet may speak to before its own one is there. */
  others: readonly SocketAddress[]
  balancerPort: number
  /** What the cluster tells its nodes, where it is known. */
  node: Partial<NodeSettings>
  /** What is there to be said and done once the API server of this machine answers and has its node. Called again until it succeeds. */
  tell(client: Client, target: WebhookTarget): Promise<void>
}

/** Whether this machine can run them, before anything is written. Resolves with whether containers are run by our own process. */
export async function mustRunStaticPods(options: UpOptions, pods: StaticPodOptions): Promise<boolean> {
  if (!thisProcess.isRoot) throw new Error('a node must be run by root (sudo)')
  const runtime = await chooseRuntime(options, { files: nodeFiles })
  if (runtime.kind === 'none') throw new Error(runtime.why)
  if (runtime.kind !== 'embedded' && pods.controlPlaneImage === 'host')
    throw new Error('--control-plane-image: host is an image of the embedded runtime (--runtime embedded); give another for this one')
  mustFitStaticPods(options, pods)
  return runtime.kind === 'embedded'
}

/** Runs until a signal ends it; its pods, the control plane among them, run on. */
export async function runStaticPods(options: UpOptions, pods: StaticPodOptions, parts: StaticPodParts): Promise<void> {
  const isEmbedded = await mustRunStaticPods(options, pods)
  await layCertificates(options)
  await layKubeconfigs(options)
  const isLaid = await areStaticPodsLaid(options, pods)
  const member = options.store === 'etcd' && !isLaid ? await readEtcdMember(options.dataDir, nodeFiles) : undefined
  // An API server gives up on an etcd that may not answer it yet.
  const isLearner = member?.initialState === 'existing'
  if (!isLaid) await layStaticPods(options, pods, isLearner ? 'etcd' : 'all')
  const name = machineNodeName()
  await layNode({ name, isEmbedded, staticPodPath: manifestsIn(options.dataDir, pods) }, options, parts)
  const seams = { clock: systemClock, files: nodeFiles, logger: loggerOf(options).with({ component: 'etcd' }) }
  const begin = async () => {
    if (isLearner) {
      await untilEtcdServes(options.dataDir, member, seams)
      await layStaticPods(options, pods)
    }
    await tellOnceServed(options, parts)
  }
  const told = begin().catch((error: unknown) => {
    thisProcess.complain(`the control plane of the static pods does not answer: ${errorMessage(error)}`)
    thisProcess.exit(1)
  })
  await Promise.all([runNode({ dataDir: options.dataDir, name }), told])
}

async function layNode(
  { name, ...ofPods }: { name: string; isEmbedded: boolean; staticPodPath: string },
  options: UpOptions,
  { others, balancerPort, node }: StaticPodParts,
): Promise<void> {
  const { dataDir, listen: address, logLevel, logFormat } = options
  using keys = await keysOf(options)
  await keys.add(nodeIdentities(name, [address]))
  const paths = nodePaths(dataDir, name)
  await nodeFiles.makeDirectory(paths.directory)
  const authorityPem = keys.authority('ca').certificatePem
  const entry = { name: 'default-auth', server: `https://127.0.0.1:${balancerPort}`, authorityPem }
  await writeKubeconfig(nodeFiles, paths.kubeletConfig, { ...entry, credential: keys.identity(nodeClientName(name)) })
  const serving = keys.identity(nodeServingName(name))
  await nodeFiles.write(paths.authority, authorityPem, { mode: 0o644 })
  await nodeFiles.write(paths.certificate, serving.certificatePem)
  await nodeFiles.write(paths.key, serving.privateKeyPem)
  const own = { host: address, port: options.apiPort }
  const settings: NodeSettings = {
    ...{ name, number: 0, address, dataDir, podCgroup: podCgroupOf(dataDir), logLevel, logFormat, ...ofPods },
    ...pluginsOf(options),
    clusterCidrs: options.clusterCidr,
    podNetwork: options.podNetwork === 'cni' ? 'cni' : backendOf(options),
    clusterDns: clusterDnsServers(options, options),
    proxyMode: options.proxyMode as NodeSettings['proxyMode'],
    enforcesPolicies: options.networkPolicy,
    ...node,
    joined: { servers: [own, ...others.filter(({ host, port }) => host !== own.host || port !== own.port)], balancerPort },
  }
  await nodeFiles.write(paths.settings, JSON.stringify(settings))
  await nodeFiles.write(paths.pid, `${thisProcess.pid}\n`)
}

async function tellOnceServed(options: UpOptions, { tell }: StaticPodParts): Promise<void> {
  const endMs = systemClock.monotonic() + patienceMs
  for (;;) {
    try {
      return await withAdminClient({ ...options, kubeconfig: '' }, async (client, target) => {
        // It registers a moment after the API server answers.
        await client.get(Node, '', machineNodeName())
        await tell(client, target)
      })
    } catch (error) {
      if (systemClock.monotonic() > endMs) throw error
      await systemClock.sleep(lookEveryMs)
    }
  }
}
