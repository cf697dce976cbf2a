/** Fits endpoints into slices of limited size while changing as few of them as possible. */

import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import type { V1Endpoint, V1EndpointPort, V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalityOf, sameObjectMeta } from '#api/meta/equality.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { append } from '#base/append.ts'
import { defined } from '#base/defined.ts'
import type { Client } from '#client/client.ts'
import { triggerTimeAnnotation } from '#controllers/endpointslice/trigger-times.ts'
import { sortedJson } from '#controllers/workload/sorted-json.ts'

const sameEndpoint = equalityOf(EndpointSlice).at('endpoints').each
const sameLabels = sameObjectMeta.at('labels')
const sameAnnotations = sameObjectMeta.at('annotations')

/** Endpoints that share their ports, and may share slices. */
export type EndpointGroup = { ports: V1EndpointPort[]; endpoints: V1Endpoint[] }

/** `endpoints` counts what changes within slices whose ports stay. */
export type SlicePlan = {
  create: V1EndpointSlice[]
  update: V1EndpointSlice[]
  remove: V1EndpointSlice[]
  endpoints: { added: number; updated: number; removed: number }
}

export const noPlan = (): SlicePlan => ({ create: [], update: [], remove: [], endpoints: { added: 0, updated: 0, removed: 0 } })

export const portsKey = (ports: readonly V1EndpointPort[] | null | undefined): string =>
  sortedJson([...(ports ?? [])].sort((left, right) => ((left.name ?? '') < (right.name ?? '') ? -1 : 1)))

const endpointKey = ({ addresses, targetRef, nodeName }: V1Endpoint): string =>
  sortedJson({ addresses: [...addresses].sort(), target: targetRef?.uid ?? targetRef?.name ?? nodeName ?? '' })

/**
 * What has to be done so that the slices of one address type hold exactly these groups. `draft` is an empty slice with the
 * metadata that all of them shall have. A service without endpoints has one empty slice, which tells that somebody looked.
 */
export function planSlices(
  existing: readonly V1EndpointSlice[],
  groups: readonly EndpointGroup[],
  draft: V1EndpointSlice,
  limit: number,
  options: { keepsEmpty: boolean },
): SlicePlan {
  const plan = noPlan()
  const left = new Map<string, V1EndpointSlice[]>()
  for (const slice of existing) {
    const key = portsKey(slice.ports)
    left.set(key, [...(left.get(key) ?? []), slice])
  }
  for (const group of groups) {
    const key = portsKey(group.ports)
    planGroup(plan, left.get(key) ?? [], group, draft, limit)
    left.delete(key)
  }
  for (const slices of left.values()) append(plan.remove, slices)
  if (options.keepsEmpty && existing.length === plan.remove.length && plan.create.length === 0) keepOneEmpty(plan, draft)
  reuseRemoved(plan)
  return plan
}

function planGroup(
  plan: SlicePlan,
  slices: readonly V1EndpointSlice[],
  { ports, endpoints }: EndpointGroup,
  draft: V1EndpointSlice,
  limit: number,
): void {
  const missing = new Map(endpoints.map((endpoint) => [endpointKey(endpoint), endpoint]))
  const kept: { slice: V1EndpointSlice; endpoints: V1Endpoint[]; isChanged: boolean }[] = []
  for (const slice of slices) {
    const stays: V1Endpoint[] = []
    let isChanged = !hasMetadata(slice, draft)
    for (const endpoint of slice.endpoints ?? []) {
      const key = endpointKey(endpoint)
      const wanted = missing.get(key)
      if (wanted === undefined || stays.length >= limit) {
        if (wanted === undefined) plan.endpoints.removed++
        isChanged = true
        continue
      }
      missing.delete(key)
      if (!sameEndpoint(wanted, endpoint)) {
        plan.endpoints.updated++
        isChanged = true
      }
      stays.push(wanted)
    }
    if (stays.length === 0) plan.remove.push(slice)
    else kept.push({ slice, endpoints: stays, isChanged })
  }
  const rest = [...missing.values()]
  plan.endpoints.added += rest.length
  // Slices that are written anyway are filled first; then, if what is left fits into one more, the fullest that has room.
  for (const entry of kept.filter(({ isChanged }) => isChanged)) append(entry.endpoints, rest.splice(0, limit - entry.endpoints.length))
  const roomy = kept
    .filter(({ isChanged, endpoints: held }) => !isChanged && rest.length > 0 && held.length + rest.length <= limit)
    .sort((left, right) => right.endpoints.length - left.endpoints.length)[0]
  if (roomy !== undefined && rest.length > 0) {
    append(roomy.endpoints, rest.splice(0))
    roomy.isChanged = true
  }
  while (rest.length > 0) plan.create.push({ ...deepCopy(draft), ports, endpoints: rest.splice(0, limit) })
  for (const { slice, endpoints: held, isChanged } of kept) {
    if (isChanged) plan.update.push({ ...slice, metadata: withMetadata(slice, draft), ports, endpoints: held })
  }
}

function hasMetadata({ metadata }: V1EndpointSlice, { metadata: wanted }: V1EndpointSlice): boolean {
  return sameLabels(metadata.labels, wanted.labels) && sameAnnotations(lasting(metadata.annotations), lasting(wanted.annotations))
}

/** When something had changed is told with the change, and is no change itself. */
function lasting({ [triggerTimeAnnotation]: _when, ...annotations }: Readonly<Record<string, string>> = {}): Record<string, string> {
  return annotations
}

function withMetadata({ metadata }: V1EndpointSlice, { metadata: wanted }: V1EndpointSlice): V1EndpointSlice['metadata'] {
  return {
    ...metadata,
    labels: { ...wanted.labels },
    annotations: { ...wanted.annotations },
    ...defined({ ownerReferences: wanted.ownerReferences }),
  }
}

function keepOneEmpty(plan: SlicePlan, draft: V1EndpointSlice): void {
  const index = plan.remove.findIndex(
    (slice) => (slice.endpoints ?? []).length === 0 && (slice.ports ?? []).length === 0 && hasMetadata(slice, draft),
  )
  if (index >= 0) plan.remove.splice(index, 1)
  else plan.create.push({ ...deepCopy(draft), ports: [], endpoints: [] })
}

/** A slice that would be deleted while another is made becomes that other one. */
function reuseRemoved(plan: SlicePlan): void {
  while (plan.create.length > 0 && plan.remove.length > 0) {
    const [next, old] = [plan.create.pop(), plan.remove.pop()]
    if (next !== undefined && old !== undefined) plan.update.push({ ...next, metadata: withMetadata(old, next) })
  }
}

export async function carryOut(
  client: Client,
  { create, update, remove }: Pick<SlicePlan, 'create' | 'update' | 'remove'>,
  wrote: (operation: 'create' | 'update' | 'delete') => void,
): Promise<void> {
  for (const slice of create) {
    await client.create(EndpointSlice, slice)
    wrote('create')
  }
  for (const slice of update) {
    await client.update(EndpointSlice, slice)
    wrote('update')
  }
  for (const { metadata } of remove) {
    await client.delete(EndpointSlice, metadata).catch(ignoreNotFound)
    wrote('delete')
  }
}
