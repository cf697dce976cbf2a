/** Deletes everything in a namespace and tells what is left. */

import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Namespace, V1Pod } from '#api/core/v1/types.gen.ts'
import { isNotFound, isReason } from '#api/meta/server-response.ts'
import { parseTime } from '#api/meta/time.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Client } from '#client/client.ts'
import { type DiscoveredResource, type Discovery, preferredResources } from '#client/discovery.ts'
import type { Remains } from '#controllers/namespace/conditions.ts'

/** How long finalizers are given before anybody looks again. */
const finalizerSeconds = 15
/** However many objects there are, and however large. */
const pageSize = 100

export type Emptied = Remains & {
  /** How long what is left may take; undefined when nothing is left. */
  estimateSeconds: number | undefined
}

/** Pods go first: as long as one is there, what it may need stays. */
export async function emptyNamespace(client: Client, namespace: V1Namespace, discovery: Discovery, nowMs: number): Promise<Emptied> {
  const counts = new Map<string, number>()
  const finalizers = new Map<string, number>()
  const deletionFailures: string[] = []
  const discoveryFailures = discovery.failures.map(({ groupVersion, error }) => `${groupVersion}: ${errorMessage(error)}`)
  let estimateSeconds = 0
  const deletable = preferredResources(discovery.resources, ['delete']).filter(({ scope }) => scope === 'Namespaced')
  const empty = async (resource: DiscoveredResource): Promise<number> => {
    try {
      const left = await deleteAll(client, resource, namespace.metadata.name ?? '')
      if (left.length === 0) return 0
      const graceSeconds = isPods(resource) ? podGraceSeconds(left as V1Pod[], namespace, nowMs) : 0
      counts.set(`${resource.plural}.${resource.group}`, left.length)
      let hasFinalizers = false
      for (const { metadata } of left) {
        for (const finalizer of metadata?.finalizers ?? []) {
          finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1)
          hasFinalizers = true
        }
      }
      if (graceSeconds === 0 && !hasFinalizers) {
        const place = `${resource.group}/${resource.version}, Resource=${resource.plural}`
        deletionFailures.push(`unexpected items still remain in namespace: ${namespace.metadata.name} for gvr: ${place}`)
      }
      estimateSeconds = Math.max(estimateSeconds, graceSeconds || finalizerSeconds)
      return left.length
    } catch (error) {
      deletionFailures.push(errorMessage(error))
      return 1
    }
  }
  const pods = deletable.find(isPods)
  const podsLeft = pods === undefined ? 0 : await empty(pods)
  if (podsLeft === 0) await Promise.all(deletable.filter((resource) => resource !== pods).map(empty))
  const isEmpty = counts.size === 0 && deletionFailures.length === 0 && discoveryFailures.length === 0
  return {
    counts: podsLeft > 0 ? new Map() : counts,
    finalizers: podsLeft > 0 ? new Map() : finalizers,
    deletionFailures,
    discoveryFailures,
    estimateSeconds: isEmpty ? undefined : estimateSeconds,
  }
}

const isPods = ({ group, plural }: DiscoveredResource): boolean => group === '' && plural === 'pods'

async function deleteAll(client: Client, resource: DiscoveredResource, namespace: string): Promise<KubernetesObject[]> {
  const canList = resource.verbs.includes('list')
  if (canList && !(await client.hasAny(resource, { namespace }))) return []
  if (resource.verbs.includes('deletecollection')) {
    await client.deleteCollection(resource, { namespace }, { propagationPolicy: 'Background' })
  } else if (canList) {
    for (const { metadata } of (await client.list(resource, { namespace, limit: pageSize })).items) {
      await client.delete(resource, metadata ?? {}, { propagationPolicy: 'Background' }).catch((error: unknown) => {
        if (!isNotFound(error) && !isReason(error, 'MethodNotAllowed')) throw error
      })
    }
  }
  return canList ? (await client.list(resource, { namespace, limit: pageSize })).items : []
}

/** How much of the longest grace of these pods is left, counted from when the namespace was deleted. */
function podGraceSeconds(pods: readonly V1Pod[], { metadata }: V1Namespace, nowMs: number): number {
  const longest = Math.max(0, ...pods.filter((pod) => !isPodFinished(pod)).map(({ spec }) => spec.terminationGracePeriodSeconds ?? 0))
  const sinceSeconds = metadata.deletionTimestamp ? Math.ceil((nowMs - parseTime(metadata.deletionTimestamp)) / 1000) : 0
  return Math.max(longest - sinceSeconds, longest > 0 ? 1 : 0)
}
