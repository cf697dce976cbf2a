/** Upstream's flags that say what the configuration file can say too: each is laid over its field. The others that it has change nothing here. */
import { flagName, list, type OptionDeclarations, type OptionValues, onOff, text, wholeNumber } from '#base/options.ts'
import { flagsWithoutEffect } from '#cmd/without-effect.ts'

type Sort = 'text' | 'number' | 'switch' | 'list' | 'map' | 'thresholds' | 'switches' | 'headers' | 'memory'
type Field = { field: string; sort: Sort }

const fields: Readonly<Record<string, Field>> = {
  allowedUnsafeSysctls: { field: 'allowedUnsafeSysctls', sort: 'list' },
  authenticationTokenWebhookCacheTtl: { field: 'authentication.webhook.cacheTTL', sort: 'text' },
  authorizationWebhookCacheAuthorizedTtl: { field: 'authorization.webhook.cacheAuthorizedTTL', sort: 'text' },
  authorizationWebhookCacheUnauthorizedTtl: { field: 'authorization.webhook.cacheUnauthorizedTTL', sort: 'text' },
  cgroupsPerQos: { field: 'cgroupsPerQOS', sort: 'switch' },
  containerLogMaxFiles: { field: 'containerLogMaxFiles', sort: 'number' },
  containerLogMaxSize: { field: 'containerLogMaxSize', sort: 'text' },
  cpuCfsQuota: { field: 'cpuCFSQuota', sort: 'switch' },
  enableDebuggingHandlers: { field: 'enableDebuggingHandlers', sort: 'switch' },
  eventBurst: { field: 'eventBurst', sort: 'number' },
  eventQps: { field: 'eventRecordQPS', sort: 'number' },
  failCgroupv1: { field: 'failCgroupV1', sort: 'switch' },
  nodeStatusMaxImages: { field: 'nodeStatusMaxImages', sort: 'number' },
  nodeStatusUpdateFrequency: { field: 'nodeStatusUpdateFrequency', sort: 'text' },
  podsPerCore: { field: 'podsPerCore', sort: 'number' },
  protectKernelDefaults: { field: 'protectKernelDefaults', sort: 'switch' },
  streamingConnectionIdleTimeout: { field: 'streamingConnectionIdleTimeout', sort: 'text' },
  tlsCipherSuites: { field: 'tlsCipherSuites', sort: 'list' },
  tlsMinVersion: { field: 'tlsMinVersion', sort: 'text' },
  cpuManagerPolicy: { field: 'cpuManagerPolicy', sort: 'text' },
  cpuManagerPolicyOptions: { field: 'cpuManagerPolicyOptions', sort: 'map' },
  cpuManagerReconcilePeriod: { field: 'cpuManagerReconcilePeriod', sort: 'text' },
  enableServer: { field: 'enableServer', sort: 'switch' },
  enforceNodeAllocatable: { field: 'enforceNodeAllocatable', sort: 'list' },
  evictionHard: { field: 'evictionHard', sort: 'thresholds' },
  evictionSoft: { field: 'evictionSoft', sort: 'thresholds' },
  evictionSoftGracePeriod: { field: 'evictionSoftGracePeriod', sort: 'map' },
  evictionMinimumReclaim: { field: 'evictionMinimumReclaim', sort: 'map' },
  evictionPressureTransitionPeriod: { field: 'evictionPressureTransitionPeriod', sort: 'text' },
  evictionMaxPodGracePeriod: { field: 'evictionMaxPodGracePeriod', sort: 'number' },
  featureGates: { field: 'featureGates', sort: 'switches' },
  fileCheckFrequency: { field: 'fileCheckFrequency', sort: 'text' },
  httpCheckFrequency: { field: 'httpCheckFrequency', sort: 'text' },
  healthzBindAddress: { field: 'healthzBindAddress', sort: 'text' },
  imageGcHighThreshold: { field: 'imageGCHighThresholdPercent', sort: 'number' },
  imageGcLowThreshold: { field: 'imageGCLowThresholdPercent', sort: 'number' },
  minimumImageTtlDuration: { field: 'imageMinimumGCAge', sort: 'text' },
  kubeReserved: { field: 'kubeReserved', sort: 'map' },
  kubeReservedCgroup: { field: 'kubeReservedCgroup', sort: 'text' },
  systemReserved: { field: 'systemReserved', sort: 'map' },
  systemReservedCgroup: { field: 'systemReservedCgroup', sort: 'text' },
  manifestUrlHeader: { field: 'staticPodURLHeader', sort: 'headers' },
  memoryManagerPolicy: { field: 'memoryManagerPolicy', sort: 'text' },
  oomScoreAdj: { field: 'oomScoreAdj', sort: 'number' },
  podCidr: { field: 'podCIDR', sort: 'text' },
  podMaxPids: { field: 'podPidsLimit', sort: 'number' },
  reservedMemory: { field: 'reservedMemory', sort: 'memory' },
  reservedCpus: { field: 'reservedSystemCPUs', sort: 'text' },
  rotateServerCertificates: { field: 'serverTLSBootstrap', sort: 'switch' },
  runtimeRequestTimeout: { field: 'runtimeRequestTimeout', sort: 'text' },
  registryQps: { field: 'registryPullQPS', sort: 'number' },
  imageServiceEndpoint: { field: 'imageServiceEndpoint', sort: 'text' },
  registryBurst: { field: 'registryBurst', sort: 'number' },
  serializeImagePulls: { field: 'serializeImagePulls', sort: 'switch' },
  topologyManagerPolicy: { field: 'topologyManagerPolicy', sort: 'text' },
  topologyManagerPolicyOptions: { field: 'topologyManagerPolicyOptions', sort: 'map' },
  topologyManagerScope: { field: 'topologyManagerScope', sort: 'text' },
}

const declared = (field: string, sort: Sort) => {
  const help = `${field} of the configuration file`
  const defaultText = "the file's"
  if (sort === 'number') return wholeNumber(help, { default: 0, defaultText })
  if (sort === 'switch') return onOff(help, { default: false, defaultText })
  return sort === 'text' ? text(help, { default: '', defaultText }) : list(help, { placeholder: 'LIST', default: [], defaultText })
}

export const configurationFlags: OptionDeclarations = Object.fromEntries(
  Object.entries(fields).map(([key, { field, sort }]) => [key, declared(field, sort)]),
)

/** Those that were given, as a configuration file would say it; undefined where none was. */
export function configurationOfFlags(values: OptionValues<OptionDeclarations>, wasGiven: (key: string) => boolean): string | undefined {
  const given = Object.keys(fields).filter(wasGiven)
  if (given.length === 0) return undefined
  const configuration: Record<string, unknown> = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' }
  for (const key of given) {
    const { field, sort } = fields[key] as Field
    const path = field.split('.')
    const last = path.pop() ?? ''
    let place = configuration
    for (const step of path) {
      place[step] ??= {}
      place = place[step] as Record<string, unknown>
    }
    place[last] = fieldValue(key, values[key], sort)
  }
  return JSON.stringify(configuration)
}

function fieldValue(key: string, value: unknown, sort: Sort): unknown {
  if (sort === 'text' || sort === 'number' || sort === 'switch' || sort === 'list') return value
  const items = value as readonly string[]
  if (sort === 'memory') return reservedMemory(key, items)
  const sign = sort === 'thresholds' ? '<' : sort === 'headers' ? ':' : '='
  const pairs = items.map((item) => pairOf(key, item, sign))
  if (sort === 'switches') return Object.fromEntries(pairs.map(([name, text]) => [name, isOn(key, name, text)]))
  if (sort !== 'headers') return Object.fromEntries(pairs)
  // The same one may be there more than once.
  return Object.fromEntries(
    Map.groupBy(pairs, ([name]) => name)
      .entries()
      .map(([name, all]) => [name, all.map(([, text]) => text)]),
  )
}

function pairOf(key: string, item: string, sign: string): [name: string, value: string] {
  const at = item.indexOf(sign)
  if (at < 1) throw new Error(`--${flagName(key)}: ${item} is not of the form NAME${sign}VALUE`)
  return [item.slice(0, at), item.slice(at + 1)]
}

function isOn(key: string, name: string, text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new Error(`--${flagName(key)}: invalid value of ${name}=${text}, must be true or false`)
  return text === 'true'
}

/** `0:memory=1Gi,hugepages-1Gi=1Gi`: what has no number belongs to the one before it. */
function reservedMemory(key: string, items: readonly string[]): { numaNode: number; limits: Record<string, string> }[] {
  const nodes = new Map<number, Record<string, string>>()
  let numaNode: number | undefined
  for (const item of items) {
    const [, number, rest = ''] = /^(?:(\d+):)?(.*)$/.exec(item) ?? []
    if (number !== undefined) numaNode = Number(number)
    if (numaNode === undefined) throw new Error(`--${flagName(key)}: ${item} is not of the form NUMA-NODE:TYPE=AMOUNT`)
    const [type, amount] = pairOf(key, rest, '=')
    nodes.set(numaNode, { ...nodes.get(numaNode), [type]: amount })
  }
  return [...nodes].map(([node, limits]) => ({ numaNode: node, limits }))
}

/** What runs pods decides these here, or nobody needs to. */
export const kubeletFlagsWithoutEffect = flagsWithoutEffect(
  'application-metrics-count-limit boot-id-file cgroup-driver container-hints containerd containerd-namespace',
  'contention-profiling cpu-cfs-quota-period enable-controller-attach-detach enable-load-reader event-storage-age-limit',
  'event-storage-event-limit exit-on-lock-contention experimental-allocatable-ignore-eviction experimental-mounter-path',
  'global-housekeeping-interval hairpin-mode housekeeping-interval',
  'kernel-memcg-notification kube-api-burst kube-api-content-type kube-api-qps kubelet-cgroups local-storage-capacity-isolation',
  'lock-file log-cadvisor-usage log-flush-frequency log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size',
  'log-text-split-stream logging-format machine-id-file make-iptables-util-chains max-open-files',
  'maximum-dead-containers maximum-dead-containers-per-container minimum-container-ttl-duration qos-reserved',
  'runtime-cgroups storage-driver-buffer-duration storage-driver-db storage-driver-host',
  'storage-driver-password storage-driver-secure storage-driver-table storage-driver-user sync-frequency system-cgroups v',
  'vmodule volume-plugin-dir volume-stats-agg-period',
)
