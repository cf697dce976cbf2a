import { join as joinPath } from 'node:path'
import { writeKubeconfig } from '#apiserver/pki/kubeconfig.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import type { OptionValues } from '#base/options.ts'
import { systemRandom } from '#base/random.ts'
import { requestNodeCertificate } from '#client/certificates/request-certificate.ts'
import { Client } from '#client/client.ts'
import { httpTransport } from '#client/http-transport.ts'
import { certificateEnd } from '#cmd/join/certificate-end.ts'
import type { joinOptions } from '#cmd/join/command.ts'
import { discoverCluster, mustKnowHash } from '#cmd/join/discover.ts'
import { isControlPlane, joinAsControlPlane } from '#cmd/join/join-control-plane.ts'
import { addressOf, readNodeConfig } from '#cmd/join/node-config.ts'
import { servingCertificate } from '#cmd/kubelet/serving-certificate.ts'
import { type NodeSettings, nodePaths, nodesDirectory } from '#cmd/node/node-directory.ts'
import { runNode } from '#cmd/node/run-node.ts'
import { chooseRuntime, podCgroupOf } from '#cmd/up/container-runtime.ts'
import { defaultKubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'

type Options = OptionValues<typeof joinOptions>

/** Makes this machine a node of the cluster, once, and runs it until a signal ends it; its pods run on. */
export async function join(url: string | undefined, options: Options): Promise<void> {
  if (options.controlPlane || (await isControlPlane(options.dataDir))) return joinAsControlPlane(url, options)
  if (options.runtime === 'none') throw new Error('--runtime: a node that runs no pods is none; only a control plane can do without')
  if (!thisProcess.isRoot) throw new Error('a node must be run by root (sudo)')
  const name = (options.nodeName || thisMachine().hostname).toLowerCase()
  const paths = nodePaths(options.dataDir, name)
  const isKnown = (await nodeFiles.stat(paths.settings)) !== undefined
  const isOver = isKnown ? await certificateEnd(paths.kubeletConfig, { files: nodeFiles, nowMs: systemClock.now() }) : undefined
  if (isOver !== undefined && (url === undefined || options.token === '')) {
    throw new Error(
      `the certificate of node ${name} ended at ${isOver}, while it was off: join once more with a token (typernetes token create --print-join-command)`,
    )
  }
  if (!isKnown || isOver !== undefined) {
    if (url === undefined) throw new Error(`${options.dataDir} has joined no cluster yet: give its address, --token and --discovery-hash`)
    if (!URL.canParse(url)) throw new Error(`${url} is not the address of an API server such as https://10.0.0.1:6443`)
    await becomeNode(new URL(url).origin, name, options)
  } else if (url !== undefined) thisProcess.print(`The node ${name} has joined already; \`typernetes reset\` makes it forget the cluster`)
  await nodeFiles.write(paths.pid, `${thisProcess.pid}\n`)
  await runNode({ dataDir: options.dataDir, name })
}

export async function becomeNode(url: string, name: string, options: Options): Promise<void> {
  const { token, discoveryHash, dataDir, logLevel, logFormat, balancerPort } = options
  mustKnowHash(options)
  const { authorityPem } = await discoverCluster(url, token, discoveryHash)
  const runtime = await chooseRuntime({ dataDir, runtime: options.runtime, criSocket: '' }, { files: nodeFiles })
  if (runtime.kind === 'none') throw new Error(runtime.why)
  if (runtime.kind === 'docker') throw new Error(`${dataDir} holds a cluster whose pods run in Docker; choose another --data-dir`)
  using http = nodeHttpClient({ ca: authorityPem })
  const headers = { authorization: `Bearer ${token}` }
  const bearer = new Client({ transport: httpTransport({ http, server: url, headers }), userAgent: 'typernetes' })
  const ofCluster = await readNodeConfig(bearer)
  const issued = await requestNodeCertificate(bearer, { nodeName: name, clock: systemClock })
  const paths = nodePaths(dataDir, name)
  await nodeFiles.makeDirectory(paths.directory)
  const address = options.nodeIp || thisMachine().addresses()[0] || '127.0.0.1'
  const server = `https://127.0.0.1:${balancerPort}`
  const credential = { ...issued, notBeforeMs: 0, notAfterMs: 0 }
  await writeKubeconfig(nodeFiles, paths.kubeletConfig, { name: 'default-auth', server, authorityPem, credential })
  await nodeFiles.write(paths.authority, authorityPem, { mode: 0o644 })
  await laySelfSigned(name, address, paths)
  const settings: NodeSettings = {
    ...{ uplink: { interfaces: [address], expressions: [] }, clusterDns: [], proxyMode: 'nftables', enforcesPolicies: true },
    ...ofCluster,
    ...{ name, number: 0, address, dataDir, podCgroup: podCgroupOf(dataDir), isEmbedded: runtime.kind === 'embedded', logLevel, logFormat },
    joined: { servers: [addressOf(url)], balancerPort },
  }
  // Last: what has settings has joined.
  await nodeFiles.write(paths.settings, JSON.stringify(settings))
  thisProcess.print(`This node has joined the cluster as ${name}`)
}

/** What the kubelet shows to those who call it: of an authority that nobody knows, as upstream's is by default. */
async function laySelfSigned(name: string, address: string, paths: ReturnType<typeof nodePaths>): Promise<void> {
  const place = { name, addresses: [address], directory: joinPath(paths.directory, 'pki') }
  const { cert, key } = await servingCertificate(defaultKubeletConfiguration(), place, {
    clock: systemClock,
    random: systemRandom,
    files: nodeFiles,
  })
  await nodeFiles.write(paths.certificate, cert)
  await nodeFiles.write(paths.key, key)
}

/** Names of the nodes that this directory is. */
export async function joinedNodes(dataDir: string): Promise<string[]> {
  return (await nodeFiles.list(nodesDirectory(dataDir))).filter((name) => !name.includes('.'))
}
