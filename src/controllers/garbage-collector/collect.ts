/** What the garbage collector does to one object at a time. */

import type { Kind } from '#api/kind.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import type { V1OwnerReference } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Client } from '#client/client.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'
import type { RecentKeys } from '#client/recent-keys.ts'
import { retryOnConflict } from '#client/retry.ts'
import {
  deletesDependentsFirst,
  foregroundFinalizer,
  orphanFinalizer,
  orphansDependents,
} from '#controllers/garbage-collector/finalizers.ts'
import type { Graph, GraphNode } from '#controllers/garbage-collector/graph.ts'

export type Collector = {
  graph: Graph
  client: Client
  clock: Clock
  events: EventRecorder
  /** The resource that a reference means; undefined when the server has none of that kind. */
  resourceOf(reference: V1OwnerReference): Promise<Kind | undefined>
  /** Owners that were found not to exist: a uid never comes back. */
  absent: RecentKeys<true>
  requeue(uid: string): void
}

/** Deletes the object if nobody owns it any more; lets go of owners that are gone while others are left. */
export async function collect(collector: Collector, uid: string): Promise<void> {
  const { graph, client } = collector
  const node = graph.get(uid)
  if (node === undefined || (node.isBeingDeleted && !node.isDeletingDependents)) return
  const object = await fresh(collector, node)
  if (object === undefined) {
    graph.remove(uid)
    return
  }
  if (node.isDeletingDependents) return finishForeground(collector, node)
  const references = object.metadata?.ownerReferences ?? []
  if (references.length === 0) return
  const { solid, dangling, waiting } = await sorted(collector, node, references)
  if (solid.length > 0) {
    if (dangling.length + waiting.length === 0) return
    const uids = [...dangling, ...waiting].map((reference) => reference.uid)
    await client.patch(node.kind, node, withoutOwners(object, uids), { type: 'merge' }).catch(ignoreNotFound)
    return
  }
  if (waiting.length > 0 && graph.dependentsOf(uid).length > 0) {
    // Two that wait for each other would wait forever.
    if (graph.dependentsOf(uid).some(({ isDeletingDependents }) => isDeletingDependents)) await stopBlocking(collector, node, object)
    await remove(collector, node, 'Foreground', object)
    return
  }
  await remove(collector, node, deletesDependentsFirst(object) ? 'Foreground' : orphansDependents(object) ? 'Orphan' : 'Background', object)
}

/** Takes the object out of the ownership of all its dependents, and then lets it go. */
export async function orphan(collector: Collector, uid: string): Promise<void> {
  const { graph, client } = collector
  const node = graph.get(uid)
  if (node === undefined) return
  for (const dependent of graph.dependentsOf(uid)) {
    await retryOnConflict(collector.clock, async () => {
      const object = await fresh(collector, dependent)
      if (object?.metadata?.ownerReferences?.some((reference) => reference.uid === uid)) {
        await client.patch(dependent.kind, dependent, withoutOwners(object, [uid]), { type: 'merge' })
      }
    }).catch(ignoreNotFound)
  }
  await removeFinalizer(collector, node, orphanFinalizer)
}

async function finishForeground(collector: Collector, node: GraphNode): Promise<void> {
  const blocking = collector.graph
    .dependentsOf(node.uid)
    .filter(({ owners }) => owners.some((reference) => reference.uid === node.uid && reference.blockOwnerDeletion === true))
  if (blocking.length === 0) return removeFinalizer(collector, node, foregroundFinalizer)
  for (const dependent of blocking) if (!dependent.isDeletingDependents) collector.requeue(dependent.uid)
}

type Sorted = { solid: V1OwnerReference[]; dangling: V1OwnerReference[]; waiting: V1OwnerReference[] }

async function sorted(collector: Collector, node: GraphNode, references: readonly V1OwnerReference[]): Promise<Sorted> {
  const result: Sorted = { solid: [], dangling: [], waiting: [] }
  for (const reference of references) {
    const owner = await ownerOf(collector, node, reference)
    if (owner === undefined) result.dangling.push(reference)
    else if (owner !== 'unknown' && owner.metadata?.deletionTimestamp !== undefined && deletesDependentsFirst(owner))
      result.waiting.push(reference)
    else result.solid.push(reference)
  }
  return result
}

/** The owner as the server has it; undefined when it does not exist. Owners in other namespaces do not count as existing. */
async function ownerOf(
  collector: Collector,
  node: GraphNode,
  reference: V1OwnerReference,
): Promise<KubernetesObject | 'unknown' | undefined> {
  const { client, graph, absent, events } = collector
  if (absent.has(reference.uid)) return undefined
  const kind = await collector.resourceOf(reference)
  // Of a kind the server does not serve nothing can be said; a namespaced owner of a cluster-wide object makes no sense.
  if (kind === undefined) throw new Error(`there is no ${reference.kind} in ${reference.apiVersion} that could own ${node.name}`)
  if (kind.scope === 'Namespaced' && node.namespace === '') {
    warnOfNamespace(events, node, reference)
    return 'unknown'
  }
  const known = graph.get(reference.uid)
  if (known !== undefined && known.namespace !== '' && known.namespace !== node.namespace) warnOfNamespace(events, node, reference)
  const owner = await client.get(kind, kind.scope === 'Namespaced' ? node.namespace : '', reference.name).catch(ignoreNotFound)
  if (owner !== undefined && owner.metadata?.uid === reference.uid) return owner
  if (known === undefined) absent.set(reference.uid, true)
  return undefined
}

function warnOfNamespace(events: EventRecorder, node: GraphNode, { apiVersion, kind, name, uid }: V1OwnerReference): void {
  const text = `ownerRef [${apiVersion}/${kind}, namespace: ${node.namespace}, name: ${name}, uid: ${uid}] does not exist in namespace "${node.namespace}"`
  const object = { metadata: { namespace: node.namespace, name: node.name, uid: node.uid } }
  events.warning(node.kind, object, 'OwnerRefInvalidNamespace', text)
}

async function fresh({ client }: Collector, node: GraphNode): Promise<KubernetesObject | undefined> {
  const object = await client.get(node.kind, node.namespace, node.name).catch(ignoreNotFound)
  return object?.metadata?.uid === node.uid ? object : undefined
}

async function remove({ client }: Collector, node: GraphNode, policy: string, object: KubernetesObject): Promise<void> {
  const resourceVersion = object.metadata?.resourceVersion
  await client.delete(node.kind, node, { uid: node.uid, propagationPolicy: policy, ...defined({ resourceVersion }) }).catch(ignoreNotFound)
}

async function stopBlocking({ client }: Collector, node: GraphNode, { metadata }: KubernetesObject): Promise<void> {
  const ownerReferences = (metadata?.ownerReferences ?? []).map((reference) => ({ ...reference, blockOwnerDeletion: false }))
  const patch = { metadata: { uid: node.uid, ownerReferences } }
  await client.patch(node.kind, node, patch, { type: 'merge' }).catch(ignoreNotFound)
}

async function removeFinalizer(collector: Collector, node: GraphNode, finalizer: string): Promise<void> {
  await retryOnConflict(collector.clock, async () => {
    const object = await fresh(collector, node)
    if (!object?.metadata?.finalizers?.includes(finalizer)) return
    const { finalizers, resourceVersion, uid } = object.metadata
    const patch = { metadata: { uid, resourceVersion, finalizers: finalizers.filter((each) => each !== finalizer) } }
    await collector.client.patch(node.kind, node, patch, { type: 'merge' })
  }).catch(ignoreNotFound)
}

/** The resourceVersion in the patch makes sure that nobody changed the owners meanwhile. */
function withoutOwners({ metadata }: KubernetesObject, uids: readonly string[]): object {
  const gone = new Set(uids)
  const left = (metadata?.ownerReferences ?? []).filter(({ uid }) => !gone.has(uid))
  return { metadata: { uid: metadata?.uid, resourceVersion: metadata?.resourceVersion, ownerReferences: left.length === 0 ? null : left } }
}
