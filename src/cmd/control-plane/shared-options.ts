/** What every control plane of a cluster must be told alike: the first one's options, kept in a config map. */
import { type UpOptions, upOptions } from '#cmd/up/options.ts'

export const sharedOptionsMap = { namespace: 'kube-system', name: 'typernetes-control-plane' } as const

/** Each machine has its own. Files are of a machine, too. */
const ofMachine: ReadonlySet<string> = new Set<keyof UpOptions>([
  ...(['detach', 'listen', 'apiPort', 'mergeKubeconfig', 'etcdListen', 'snapshotInterval', 'snapshotKeep', 'runtime', 'nodes'] as const),
  ...(['simNodes', 'token', 'iface', 'ifaceRegex', 'apiWorkers', 'logLevel', 'logFormat', 'dnsListen', 'insecurePort'] as const),
])
const pathLike = /^(FILE|DIR|PATH|FILES?)$/

/** Those that differ from the defaults. */
export function sharedOptions(options: UpOptions): Partial<UpOptions> {
  const shared = Object.entries(upOptions).filter(([name, { kind, default: usual }]) => {
    if (ofMachine.has(name) || pathLike.test(kind.placeholder ?? '')) return false
    return JSON.stringify(options[name as keyof UpOptions]) !== JSON.stringify(usual)
  })
  return Object.fromEntries(shared.map(([name]) => [name, options[name as keyof UpOptions]])) as Partial<UpOptions>
}

export const usualOptions = (): UpOptions =>
  Object.fromEntries(Object.entries(upOptions).map(([name, option]) => [name, option.default])) as UpOptions

/** Of the images of static pods. */
export type PodImages = { controlPlaneImage: string; etcdImage: string }

/** How a machine runs its control plane: as it is kept beside the options, and followed by those who join unless they are told otherwise. */
export const wayData = (staticPods: PodImages | undefined): Record<string, string> => {
  if (staticPods === undefined) return { [wayKey]: 'process' }
  const { controlPlaneImage, etcdImage } = staticPods
  return { [wayKey]: 'static-pods', [imagesKey]: JSON.stringify({ controlPlaneImage, etcdImage }) }
}

/** Clusters of versions that did not write it down were joined by processes. */
export function wayOf(data: Readonly<Record<string, string>>): { as: string; images: PodImages } {
  return { as: data[wayKey] ?? 'process', images: { ...hostImages, ...(JSON.parse(data[imagesKey] ?? '{}') as Partial<PodImages>) } }
}

export const hasWay = (data: Readonly<Record<string, string>>): boolean => data[wayKey] !== undefined

const wayKey = 'control-plane-as'
const imagesKey = 'static-pod-images'
const hostImages: PodImages = { controlPlaneImage: 'host', etcdImage: 'host' }
