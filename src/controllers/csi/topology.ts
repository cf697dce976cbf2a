/** Where a volume may be: from nodes to CSI's segments, and back to a volume's node affinity. */
import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1VolumeNodeAffinity } from '#api/core/v1/types.gen.ts'
import { ignoreNotFound, isNotFound } from '#api/meta/server-response.ts'
import { CSINode } from '#api/storage/v1/kinds.gen.ts'
import type { V1StorageClass } from '#api/storage/v1/types.gen.ts'
import type { Client } from '#client/client.ts'
import { DriverError } from '#controllers/volume-driver/driver-error.ts'
import type { CsiRequest, Topology } from '#wire/csi/csi-types.ts'

export type TopologyRequest = {
  driver: string
  storageClass: V1StorageClass
  nodeName?: string
  volumeName: string
  usualKeys?: readonly string[]
}

type Requirements = NonNullable<CsiRequest<'createVolume'>['accessibilityRequirements']>

/** `usualKeys` stand in for nodes whose CSINode does not name the driver. */
export async function topologyRequirements(
  request: TopologyRequest,
  client: Pick<Client, 'get' | 'list'>,
): Promise<Requirements | undefined> {
  const { driver, storageClass, nodeName, volumeName, usualKeys } = request
  const allowed = allowedTopologies(storageClass)
  if (nodeName !== undefined) {
    const selected = await segmentsOf(nodeName, driver, usualKeys, client)
    // A node of its own is where the volume must be: others need not be looked for.
    const all = usualKeys === undefined ? await clusterTopologies(driver, client) : []
    const requisite = allowed.length > 0 ? allowed : distinct([selected, ...all])
    return { requisite, preferred: [selected, ...requisite.filter((each) => keyOf(each) !== keyOf(selected))] }
  }
  const requisite = allowed.length > 0 ? allowed : await clusterTopologies(driver, client)
  if (requisite.length === 0) return undefined
  // Volumes of one class are spread, and the same volume always gets the same.
  const first = [...volumeName].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 0) % requisite.length
  return { requisite, preferred: [...requisite.slice(first), ...requisite.slice(0, first)] }
}

async function segmentsOf(
  nodeName: string,
  driver: string,
  usualKeys: readonly string[] | undefined,
  client: Pick<Client, 'get'>,
): Promise<Topology> {
  const node = await client.get(Node, '', nodeName).catch((error: unknown) => {
    if (isNotFound(error)) throw new DriverError('elsewhere', `node ${nodeName} is not there`, { cause: error })
    throw error
  })
  const keys = usualKeys ?? (await topologyKeys(nodeName, driver, client))
  const segments = keys.map((key) => [key, node.metadata?.labels?.[key] ?? ''] as const)
  const missing = segments.find(([, value]) => value === '')
  if (missing !== undefined)
    throw new Error(`node ${nodeName} has no label ${missing[0]} yet, which the topology of driver ${driver} needs`)
  return { segments: Object.fromEntries(segments) }
}

async function topologyKeys(nodeName: string, driver: string, client: Pick<Client, 'get'>): Promise<string[]> {
  const csiNode = await client.get(CSINode, '', nodeName).catch(ignoreNotFound)
  const found = csiNode?.spec.drivers?.find(({ name }) => name === driver)
  if (found === undefined)
    throw new DriverError('elsewhere', `error generating accessibility requirements: no topology key found on CSINode ${nodeName}`)
  return found.topologyKeys ?? []
}

export async function clusterTopologies(driver: string, client: Pick<Client, 'list'>): Promise<Topology[]> {
  const [{ items: csiNodes }, { items: nodes }] = [await client.list(CSINode), await client.list(Node)]
  const labels = new Map(nodes.map(({ metadata }) => [metadata?.name ?? '', metadata?.labels ?? {}]))
  const found: Topology[] = []
  for (const { metadata, spec } of csiNodes) {
    const keys = spec.drivers?.find(({ name }) => name === driver)?.topologyKeys ?? undefined
    const own = labels.get(metadata?.name ?? '')
    if (keys === undefined || own === undefined || !keys.every((key) => own[key] !== undefined)) continue
    found.push({ segments: Object.fromEntries(keys.map((key) => [key, own[key] ?? ''])) })
  }
  return distinct(found)
}

function allowedTopologies({ allowedTopologies: terms = [] }: V1StorageClass): Topology[] {
  return distinct(
    terms.flatMap(({ matchLabelExpressions = [] }) =>
      matchLabelExpressions.reduce<Topology[]>(
        (all, { key, values = [] }) => all.flatMap(({ segments }) => values.map((value) => ({ segments: { ...segments, [key]: value } }))),
        [{ segments: {} }],
      ),
    ),
  )
}

const keyOf = ({ segments }: Topology): string => JSON.stringify(Object.entries(segments).sort())

function distinct(topologies: readonly Topology[]): Topology[] {
  return [...new Map(topologies.filter(({ segments }) => Object.keys(segments).length > 0).map((each) => [keyOf(each), each])).values()]
}

export function nodeAffinityOf(topologies: readonly Topology[] = []): V1VolumeNodeAffinity | undefined {
  const terms = distinct(topologies).map(({ segments }) => ({
    matchExpressions: Object.entries(segments)
      .sort()
      .map(([key, value]) => ({ key, operator: 'In', values: [value] })),
  }))
  return terms.length === 0 ? undefined : { required: { nodeSelectorTerms: terms } }
}
