/** This machine as a further control plane of a cluster on etcd: the same keys, the same options, an API server of its own. */
import { join } from 'node:path'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import type { OptionValues } from '#base/options.ts'
import { Client } from '#client/client.ts'
import { httpTransport } from '#client/http-transport.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import type { StaticPodOptions } from '#cmd/control-plane/lay-static-pods.ts'
import type { StaticPodParts } from '#cmd/control-plane/run-static-pods.ts'
import { downloadCertificates } from '#cmd/control-plane/shared-certificates.ts'
import { type PodImages, sharedOptionsMap, usualOptions, wayOf } from '#cmd/control-plane/shared-options.ts'
import { embeddedStoreIsAlone, markControlPlane } from '#cmd/init/init.ts'
import type { joinOptions } from '#cmd/join/command.ts'
import { discoverCluster, mustKnowHash } from '#cmd/join/discover.ts'
import { addressOf, readNodeConfig } from '#cmd/join/node-config.ts'
import { knownServers } from '#cmd/node/node-directory.ts'
import { etcdEndpointsKey, joinEtcd, publishEtcdMembers } from '#cmd/own-etcd/etcd-membership.ts'
import { isLoopback, machineNodeName } from '#cmd/up/cluster-addresses.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { up } from '#cmd/up/up.ts'

type Options = OptionValues<typeof joinOptions>

/** What was learned of the cluster, for the next start. */
const settingsPath = (dataDir: string): string => join(dataDir, 'control-plane.json')

export const isControlPlane = async (dataDir: string): Promise<boolean> => (await nodeFiles.stat(settingsPath(dataDir))) !== undefined

/** Joins once, and runs until a signal ends it. */
export async function joinAsControlPlane(url: string | undefined, options: Options): Promise<void> {
  if (!(await isControlPlane(options.dataDir))) {
    if (url === undefined)
      throw new Error(`${options.dataDir} has joined no cluster yet: give its address, --token, --discovery-hash and --certificate-key`)
    await prepareControlPlane(url, options)
  }
  const { staticPods, ...settings } = JSON.parse(await nodeFiles.readText(settingsPath(options.dataDir))) as KeptSettings
  const { logLevel, logFormat } = options
  const ofUp = { ...usualOptions(), ...settings, logLevel, logFormat }
  const introduce = async (client: Client): Promise<string> => {
    await markControlPlane(client)
    await publishEtcdMembers(client, options.dataDir)
    return 'This machine has joined the cluster as a control plane'
  }
  if (staticPods === undefined)
    return up(ofUp, ({ apiServer }) => introduce(clientInProcess(apiServer, 'typernetes:join', ['system:masters'])))
  const { others, balancerPort, node, ...pods } = staticPods
  const { runStaticPods } = await import('#cmd/control-plane/run-static-pods.ts')
  await runStaticPods({ ...ofUp, ...ofStaticPods }, pods, {
    ...{ balancerPort, node },
    others: [...(await knownServers(options.dataDir, machineNodeName(), nodeFiles)), ...others],
    tell: async (client) => thisProcess.print(await introduce(client)),
  })
}

/** The key that secrets are encrypted with was brought along, or there is none: another one would be nobody else's. */
const ofStaticPods = { encryptSecrets: 'off' } as const

type StaticPodSettings = StaticPodOptions & Pick<StaticPodParts, 'others' | 'balancerPort' | 'node'>
type KeptSettings = UpOptions & { staticPods?: StaticPodSettings }

/** Brings the keys and the options of the cluster to this machine. */
export async function prepareControlPlane(url: string, options: Options): Promise<void> {
  const { token, discoveryHash, dataDir, certificateKey } = options
  if (certificateKey === '') throw new Error('--certificate-key: `typernetes init phase upload-certs` on the first machine prints it')
  mustKnowHash(options)
  const server = new URL(url).origin
  const { authorityPem } = await discoverCluster(server, token, discoveryHash)
  using http = nodeHttpClient({ ca: authorityPem })
  const transport = httpTransport({ http, server, headers: { authorization: `Bearer ${token}` } })
  const bearer = new Client({ transport, userAgent: 'typernetes' })
  const { shared, etcdEndpoints, way } = await readSharedOptions(bearer)
  const listen = options.listen || options.nodeIp || thisMachine().addresses()[0]
  if (listen === undefined) throw new Error('this machine has no address by which others could reach it; give one with --listen')
  const { apiPort, runtime } = options
  const own = { dataDir, listen, apiPort, runtime, iface: [listen] }
  const asPods = (options.controlPlaneAs || way.as) === 'static-pods'
  const staticPods = asPods ? await staticPodsFor(server, options, { bearer, images: way.images }) : undefined
  if (staticPods !== undefined) {
    const { mustRunStaticPods } = await import('#cmd/control-plane/run-static-pods.ts')
    // Before etcd expects a member.
    await mustRunStaticPods({ ...usualOptions(), ...shared, ...own }, staticPods)
  }
  const etcdFiles = await downloadCertificates(bearer, { dataDir, certificateKey }, nodeFiles)
  if (etcdEndpoints.length > 0) await joinEtcd(dataDir, listen, etcdEndpoints)
  // Last: what has settings has joined.
  await nodeFiles.write(settingsPath(dataDir), JSON.stringify({ ...shared, ...own, ...etcdFiles, ...defined({ staticPods }) }))
  thisProcess.print(`The keys and options of the cluster are in ${dataDir}`)
}

/** What is not said here is as the first machine has it. */
async function staticPodsFor(
  server: string,
  { manifestsDir, controlPlaneImage, etcdImage, balancerPort }: Options,
  { bearer, images }: { bearer: Client; images: PodImages },
): Promise<StaticPodSettings> {
  return {
    ...{ manifestsDir, controlPlaneImage: controlPlaneImage || images.controlPlaneImage, etcdImage: etcdImage || images.etcdImage },
    ...{ balancerPort, others: [addressOf(server)], node: await readNodeConfig(bearer) },
  }
}

type Shared = { shared: Partial<UpOptions>; etcdEndpoints: readonly string[]; way: ReturnType<typeof wayOf> }

async function readSharedOptions(client: Client): Promise<Shared> {
  const { namespace, name } = sharedOptionsMap
  const { data = {} } = await client.get(ConfigMap, namespace, name).catch((error: unknown) => {
    throw isNotFound(error) ? new Error(`the cluster has no config map ${name}: was it made by typernetes init?`, { cause: error }) : error
  })
  const shared = JSON.parse(data['options'] ?? '{}') as Partial<UpOptions>
  const way = wayOf(data)
  const { store = 'sqlite' } = shared
  if (!store.startsWith('etcd')) throw new Error(embeddedStoreIsAlone)
  if (store === 'etcd') {
    const etcdEndpoints = (data[etcdEndpointsKey] ?? '').split(',').filter((url) => url !== '' && !isLoopback(new URL(url).hostname))
    if (etcdEndpoints.length > 0) return { shared, etcdEndpoints, way }
    throw new Error(`the config map ${name} names no member of etcd that this machine could reach; start the first one with --listen ADDR`)
  }
  const hosts = store.slice(store.indexOf('//') + 2).split(',')
  if (hosts.every((host) => isLoopback(host.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''))))
    throw new Error(
      `the first machine reaches etcd by ${hosts.join(',')}, which means another etcd here; start it with addresses of the network`,
    )
  return { shared, etcdEndpoints: [], way }
}
