/** Writes the manifests of a control plane as static pods, and notes what they were made of, for an upgrade to write them anew. */
import { dirname, join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { systemRandom } from '#base/random.ts'
import { addonsShared } from '#cmd/addons/command.ts'
import { apiserverOptions } from '#cmd/apiserver/flags.ts'
import { layKubeconfigs } from '#cmd/control-plane/lay-keys.ts'
import { passedFlags } from '#cmd/control-plane/passed-flags.ts'
import { usualOptions } from '#cmd/control-plane/shared-options.ts'
import { controlPlanePods } from '#cmd/control-plane/static-pods.ts'
import { controllerManagerOptions } from '#cmd/controller-manager/flags.ts'
import { type EtcdMember, etcdClientFiles, etcdClientUrl, etcdFlags, readEtcdMember } from '#cmd/own-etcd/etcd-member.ts'
import { layEtcdCertificates, makeFirstMember } from '#cmd/own-etcd/open-own-etcd.ts'
import { schedulerOptions } from '#cmd/scheduler/command.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { ownEncryptionPath } from '#cmd/up/own-encryption.ts'
import { kubernetesVersion, version } from '#cmd/version.ts'

/** How the static pods of a machine are made. */
export type StaticPodOptions = { manifestsDir: string; controlPlaneImage: string; etcdImage: string }

const seams = { files: nodeFiles, clock: systemClock, random: systemRandom, logger: silentLogger }

export const manifestsIn = (dataDir: string, { manifestsDir }: Pick<StaticPodOptions, 'manifestsDir'>): string =>
  manifestsDir || join(dataDir, 'manifests')

const endpointsOf = (store: string, scheme: string): string[] =>
  store
    .slice(store.indexOf('//') + 2)
    .split(',')
    .map((endpoint) => `${scheme}://${endpoint}`)

async function layEtcdMember({ dataDir, listen }: UpOptions): Promise<EtcdMember> {
  const member = (await readEtcdMember(dataDir, nodeFiles)) ?? (await makeFirstMember(dataDir, listen, nodeFiles))
  await layEtcdCertificates(dataDir, member, seams)
  return member
}

/** Before anything is written. */
export function mustFitStaticPods(
  options: UpOptions,
  { controlPlaneImage, etcdImage }: Pick<StaticPodOptions, 'controlPlaneImage' | 'etcdImage'>,
): void {
  if (options.store !== 'etcd' && !/^etcds?:\/\//.test(options.store))
    throw new Error('--store: API servers in pods need etcd: etcd (as a pod of this machine), or etcd://HOST:PORT,…')
  if (options.store === 'etcd' && controlPlaneImage !== 'host' && etcdImage === 'host')
    throw new Error('--etcd-image: host is an image of the embedded runtime; name another, as for --control-plane-image')
  const { metricsAdapter, prometheusUrl, metricsAdapterConfig, serviceCatalog, nodeGroup, simNodes, snapshotInterval } = options
  const { netConf, podNetwork } = options
  const asked = {
    ...{
      '--metrics-adapter': metricsAdapter,
      '--prometheus-url': prometheusUrl !== '',
      '--metrics-adapter-config': metricsAdapterConfig !== '',
    },
    ...{ '--service-catalog': serviceCatalog, '--node-group': nodeGroup.length > 0, '--sim-nodes': simNodes > 0 },
    ...{ '--snapshot-interval': snapshotInterval > 0, '--net-conf': netConf !== '', '--pod-network bgp': podNetwork === 'bgp' },
    ...{ '--nodes': options.nodes > 1, '--cloud-provider': options.cloudProvider !== '', '--dns-listen': options.dnsListen !== '' },
    ...{
      '--etcd-listen': options.etcdListen !== '',
      '--merge-kubeconfig': options.mergeKubeconfig,
      '--kubeconfig': options.kubeconfig !== '',
    },
  }
  const [flag] = Object.entries(asked).find(([, isAsked]) => isAsked) ?? []
  if (flag !== undefined) throw new Error(`${flag}: only a control plane in one process has it (--control-plane-as process)`)
}

/** Manifests say these in any case, from what is kept on the machine. */
const inManifests = ['kubeconfig', 'serviceClusterIpRange', 'clusterCidr', 'featureGates', 'verticalPodAutoscaler'] as const
/** What keys and the kubelet are made of. */
const notOfServer = ['token', 'encryptSecrets', 'ociRuntime', 'podLogsDir'] as const

const passedTo = (options: UpOptions) => ({
  apiserver: passedFlags(options, apiserverOptions, [...inManifests, ...notOfServer]),
  'controller-manager': passedFlags(options, controllerManagerOptions, inManifests),
  scheduler: passedFlags(options, schedulerOptions, inManifests),
  addons: passedFlags(options, addonsShared, []),
})

const staticControlPlanePath = (dataDir: string): string => join(dataDir, 'static-control-plane.json')

/** As an upgrade writes them anew from it. */
const keptText = (options: UpOptions, { manifestsDir, controlPlaneImage, etcdImage }: StaticPodOptions): string =>
  JSON.stringify({ options, init: { manifestsDir, controlPlaneImage, etcdImage } })

type StaticControlPlane = { options: UpOptions; init: StaticPodOptions }

const readStaticControlPlane = async (dataDir: string): Promise<StaticControlPlane> =>
  JSON.parse(await nodeFiles.readText(staticControlPlanePath(dataDir))) as StaticControlPlane

/** Undefined where this machine has none. */
export const staticPodsOf = async (dataDir: string): Promise<StaticPodOptions | undefined> =>
  (await hasStaticPods(dataDir)) ? (await readStaticControlPlane(dataDir)).init : undefined

export const hasStaticPods = async (dataDir: string): Promise<boolean> =>
  (await nodeFiles.stat(staticControlPlanePath(dataDir))) !== undefined

/** They are there, of whatever version, by the same options: a kubelet that starts again upgrades nothing. */
export async function areStaticPodsLaid(options: UpOptions, init: StaticPodOptions): Promise<boolean> {
  return (await nodeFiles.readTextIfPresent(staticControlPlanePath(options.dataDir))) === keptText(options, init)
}

/** Those of this program. */
export async function renewStaticPods(dataDir: string): Promise<void> {
  const { options, init } = await readStaticControlPlane(dataDir)
  const complete = { ...usualOptions(), ...options }
  // An earlier version had fewer.
  await layKubeconfigs(complete)
  await layStaticPods(complete, init)
}

/** `etcd`: its manifest alone. */
export async function layStaticPods(options: UpOptions, init: StaticPodOptions, which: 'all' | 'etcd' = 'all'): Promise<void> {
  const { controlPlaneImage, etcdImage } = init
  mustFitStaticPods(options, init)
  const member = options.store === 'etcd' ? await layEtcdMember(options) : undefined
  const scheme = options.store.startsWith('etcds') || options.etcdCafile !== '' ? 'https' : 'http'
  const script = thisProcess.argv[1] ?? ''
  const pods = controlPlanePods({
    ...{ dataDir: options.dataDir, address: options.listen, port: options.apiPort, image: controlPlaneImage },
    program: [thisProcess.executable, script],
    programDirectories: [dirname(dirname(script)), dirname(thisProcess.executable)],
    ...(member === undefined
      ? { etcdServers: endpointsOf(options.store, scheme), etcdFiles: options, etcd: undefined }
      : {
          etcdServers: [etcdClientUrl(member.address)],
          etcdFiles: etcdClientFiles(options.dataDir),
          etcd: { flags: etcdFlags(options.dataDir, member), image: etcdImage },
        }),
    serviceCidrs: options.serviceClusterIpRange,
    podCidrs: options.clusterCidr,
    hasEncryption: (await nodeFiles.stat(ownEncryptionPath(options.dataDir))) !== undefined,
    featureGates: options.featureGates,
    version: `${kubernetesVersion}-${version}`,
    verticalPodAutoscaler: options.verticalPodAutoscaler,
    appliesAddons: options.addonsDir !== '',
    passed: passedTo(options),
    hasScheduler: options.scheduler,
  })
  const directory = manifestsIn(options.dataDir, init)
  await nodeFiles.makeDirectory(directory)
  for (const [name, pod] of pods) {
    if (which === 'etcd' && name !== 'etcd.yaml') continue
    // JSON is YAML.
    await nodeFiles.write(join(directory, name), `${JSON.stringify(pod, null, 2)}\n`)
    thisProcess.print(`Wrote ${join(directory, name)}`)
  }
  if (which === 'all') await nodeFiles.write(staticControlPlanePath(options.dataDir), keptText(options, init))
}
