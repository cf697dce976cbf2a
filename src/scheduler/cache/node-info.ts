import { HostPorts } from '#api/core/v1/pod/host-ports.ts'
import type { V1Node, V1Taint } from '#api/core/v1/types.gen.ts'
import { hasAffinity, type PodInfo } from '#scheduler/cache/pod-info.ts'
import { addResources, noResources, type Resources, resourcesOfList } from '#scheduler/cache/resources.ts'

const noLabels: Readonly<Record<string, string>> = {}
const noTaints: readonly V1Taint[] = []

/** A node, the pods on it, and the sums over them that filters and scores ask for. */
export class NodeInfo {
  readonly name: string
  node: V1Node
  labels: Readonly<Record<string, string>> = noLabels
  /** Taints that keep pods away: NoSchedule and NoExecute. */
  hardTaints: readonly V1Taint[] = noTaints
  /** Taints that only discourage. */
  softTaints: readonly V1Taint[] = noTaints
  isUnschedulable = false
  allocatable: Resources = noResources()
  /** The images on the node, by normalized name, in bytes. */
  imageSizes: ReadonlyMap<string, number> = new Map()

  readonly requested: Resources = noResources()
  nonZeroCpuMillis = 0
  nonZeroMemory = 0
  readonly pods: PodInfo[] = []
  readonly podsWithAffinity: PodInfo[] = []
  readonly podsWithRequiredAntiAffinity: PodInfo[] = []
  ports = new HostPorts()

  constructor(node: V1Node) {
    this.name = node.metadata.name ?? ''
    this.node = node
    this.setNode(node)
  }

  setNode(node: V1Node): void {
    this.node = node
    this.labels = node.metadata.labels ?? noLabels
    const taints = node.spec?.taints ?? noTaints
    this.hardTaints = taints.length === 0 ? noTaints : taints.filter(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute')
    this.softTaints = taints.length === 0 ? noTaints : taints.filter(({ effect }) => effect === 'PreferNoSchedule')
    this.isUnschedulable = node.spec?.unschedulable === true
    this.allocatable = resourcesOfList(node.status?.allocatable)
    this.imageSizes = imageSizesOf(node)
  }

  addPod(info: PodInfo): void {
    this.pods.push(info)
    if (hasAffinity(info)) this.podsWithAffinity.push(info)
    if (info.terms.requiredAnti.length > 0) this.podsWithRequiredAntiAffinity.push(info)
    count(this, info, 1)
  }

  /** By uid; tells whether it was here. */
  removePod(info: PodInfo): boolean {
    const known = takeOut(this.pods, info.uid)
    if (known === undefined) return false
    takeOut(this.podsWithAffinity, info.uid)
    takeOut(this.podsWithRequiredAntiAffinity, info.uid)
    count(this, known, -1)
    return true
  }

  /** A copy to try things on: pods come and go there without a trace here. */
  clone(): NodeInfo {
    const copy = Object.create(NodeInfo.prototype) as { -readonly [Field in keyof NodeInfo]: NodeInfo[Field] }
    Object.assign(copy, this)
    const { scalars } = this.requested
    copy.requested = { ...this.requested, scalars: scalars === undefined ? undefined : new Map(scalars) }
    copy.pods = [...this.pods]
    copy.podsWithAffinity = [...this.podsWithAffinity]
    copy.podsWithRequiredAntiAffinity = [...this.podsWithRequiredAntiAffinity]
    copy.ports = this.ports.clone()
    return copy as NodeInfo
  }
}

function count(node: NodeInfo, info: PodInfo, sign: 1 | -1): void {
  addResources(node.requested, info.requests, sign)
  node.nonZeroCpuMillis += sign * info.nonZeroCpuMillis
  node.nonZeroMemory += sign * info.nonZeroMemory
  if (info.hostPorts.length === 0) return
  if (sign === 1) node.ports.add(info.hostPorts)
  else node.ports.remove(info.hostPorts)
}

/** Order does not matter to anybody, so the last takes the place of the one that leaves. */
function takeOut(pods: PodInfo[], uid: string): PodInfo | undefined {
  const index = pods.findIndex((each) => each.uid === uid)
  if (index < 0) return undefined
  const found = pods[index]
  const last = pods.pop()
  if (last !== undefined && index < pods.length) pods[index] = last
  return found
}

function imageSizesOf(node: V1Node): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>()
  for (const { names, sizeBytes } of node.status?.images ?? [])
    for (const name of names ?? []) sizes.set(normalizedImageName(name), sizeBytes ?? 0)
  return sizes
}

/** A name without a tag means the latest. */
export function normalizedImageName(name: string): string {
  return name.lastIndexOf(':') <= name.lastIndexOf('/') ? `${name}:latest` : name
}
