import { Pod } from '#api/core/v1/kinds.gen.ts'
import { claimNamesOf, claimOf, usesClaims } from '#api/core/v1/pod/pod-claims.ts'
import type { V1Pod, V1PodResourceClaim } from '#api/core/v1/types.gen.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { ResourceClaim, ResourceClaimTemplate } from '#api/resource/v1/kinds.gen.ts'
import type { V1ResourceClaim, V1ResourceClaimTemplate } from '#api/resource/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { objectKey } from '#client/informer/object-store.ts'
import { countedCreation, podClaimAnnotation } from '#controllers/resourceclaim/claim-metrics.ts'
import { isDone, isReservedFor } from '#controllers/resourceclaim/pod-claims.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const byClaim = 'resource claim'
const byTemplate = 'resource claim template'
/** So many pods may share a claim. */
const mostConsumers = 256

const keysOf = (pods: readonly V1Pod[]): string[] => pods.map(({ metadata }) => objectKey(metadata.namespace ?? '', metadata.name ?? ''))

/** Makes the claims that pods ask for by template, and reserves claims for pods that were put on a node without the scheduler. */
export const claimsOfPods = defineController({
  name: 'resourceclaim-controller',
  queueName: 'resource_claim',
  serviceAccount: 'resource-claim-controller',
  eventComponent: 'resource_claim',
  for: Pod,
  concurrency: 50,
  ignores: (pod) => !usesClaims(pod) || isDeleting(pod) || isDone(pod),
  indexes(cache) {
    cache.addIndex(Pod, byClaim, (pod) => claimNamesOf(pod).map((name) => objectKey(pod.metadata.namespace ?? '', name)))
    cache.addIndex(Pod, byTemplate, ({ metadata, spec }) =>
      (spec.resourceClaims ?? []).flatMap(({ resourceClaimTemplateName: name }) =>
        name === undefined ? [] : [objectKey(metadata.namespace ?? '', name)],
      ),
    )
  },
  watches: [
    on(ResourceClaim, ({ metadata }, cache) =>
      keysOf(cache.byIndex(Pod, byClaim, objectKey(metadata.namespace ?? '', metadata.name ?? ''))),
    ),
    on(ResourceClaimTemplate, ({ metadata }, cache) =>
      keysOf(cache.byIndex(Pod, byTemplate, objectKey(metadata.namespace ?? '', metadata.name ?? ''))),
    ),
  ],

  async reconcile(pod, context) {
    // Claims of pods that are done are being removed.
    if (isDeleting(pod) || isDone(pod)) return
    const made = await madeClaims(pod, context)
    if (made.size > 0) await recordClaims(pod, made, context)
    // Otherwise the scheduler reserves them.
    if (pod.spec.nodeName) await reserveClaims(pod, made, context)
  },
})

/** The claims that there were none of in the pod's status, by the name of the pod's entry. */
async function madeClaims(pod: V1Pod, context: ReconcileContext): Promise<Map<string, string>> {
  const made = new Map<string, string>()
  for (const entry of pod.spec.resourceClaims ?? []) {
    try {
      const claim = await claimFor(pod, entry, context)
      if (claim !== undefined) made.set(entry.name, claim.metadata.name ?? '')
    } catch (error) {
      context.events.warning(Pod, pod, 'FailedResourceClaimCreation', `PodResourceClaim ${entry.name}: ${errorMessage(error)}`)
      throw error
    }
  }
  return made
}

/** The claim of the entry, if it is one that the pod's status does not tell yet. */
async function claimFor(pod: V1Pod, entry: V1PodResourceClaim, context: ReconcileContext): Promise<V1ResourceClaim | undefined> {
  const { cache, client, settings } = context
  const known = claimOf(pod, entry)
  if (known === null || entry.resourceClaimTemplateName === undefined) return undefined
  const namespace = pod.metadata.namespace ?? ''
  if (known !== undefined) {
    const existing = cache.get(ResourceClaim, namespace, known.name) ?? (await found(namespace, known.name, context))
    if (existing !== undefined && isOwn(existing, pod)) return undefined
  }
  // One that was made by somebody who did not come to write it down.
  const forgotten = cache.controlledBy(ResourceClaim, pod).find(({ metadata }) => metadata.annotations?.[podClaimAnnotation] === entry.name)
  if (forgotten !== undefined) return forgotten
  const template = cache.get(ResourceClaimTemplate, namespace, entry.resourceClaimTemplateName)
  if (template === undefined)
    throw new Error(
      `resource claim template "${entry.resourceClaimTemplateName}": resourceclaimtemplate.resource.k8s.io "${entry.resourceClaimTemplateName}" not found`,
    )
  if (!settings.isEnabled('DRAAdminAccess') && needsAdminAccess(template))
    throw new Error('admin access is requested, but the feature is disabled')
  const claim = claimFromTemplate(pod, entry, template)
  return countedCreation(claim, context, () => client.create(ResourceClaim, claim))
}

async function found(namespace: string, name: string, { client }: ReconcileContext): Promise<V1ResourceClaim | undefined> {
  return client.get(ResourceClaim, namespace, name).catch(ignoreNotFound)
}

const isOwn = (claim: V1ResourceClaim, { metadata }: V1Pod): boolean => controllerOf(claim)?.uid === metadata.uid

const needsAdminAccess = ({ spec }: V1ResourceClaimTemplate): boolean =>
  (spec.spec.devices?.requests ?? []).some(({ exactly }) => exactly?.adminAccess === true)

function claimFromTemplate({ metadata }: V1Pod, entry: V1PodResourceClaim, { spec }: V1ResourceClaimTemplate): V1ResourceClaim {
  const { namespace = '', name = '', uid = '' } = metadata
  const { labels, annotations } = spec.metadata ?? {}
  return {
    metadata: {
      namespace,
      generateName: baseName(name, entry.name),
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid, controller: true }],
      annotations: { ...annotations, [podClaimAnnotation]: entry.name },
      ...defined({ labels }),
    },
    spec: spec.spec,
  }
}

/** Both names are shortened alike where they are too long, so that the end of neither is lost altogether. */
function baseName(pod: string, claim: string): string {
  const most = 57
  const whole = `${pod}-${claim}-`
  if (whole.length <= most) return whole
  const part = (text: string) => text.slice(0, Math.floor((text.length * most) / whole.length))
  return `${part(pod)}-${part(claim)}`
}

async function recordClaims({ metadata, status }: V1Pod, made: ReadonlyMap<string, string>, { client }: ReconcileContext): Promise<void> {
  const { namespace = '', name = '' } = metadata
  const all = new Map(
    (status?.resourceClaimStatuses ?? []).flatMap((each) => (each.resourceClaimName ? [[each.name, each.resourceClaimName]] : [])),
  )
  for (const [entry, claim] of made) all.set(entry, claim)
  const resourceClaimStatuses = [...all]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([entry, claim]) => ({ name: entry, resourceClaimName: claim }))
  const applied = { metadata: { namespace, name }, status: { resourceClaimStatuses } }
  await client.apply(Pod, applied, { subresource: 'status', fieldManager: 'ResourceClaimController', force: true })
}

async function reserveClaims(pod: V1Pod, made: ReadonlyMap<string, string>, { cache, client }: ReconcileContext): Promise<void> {
  const { namespace = '', name = '', uid = '' } = pod.metadata
  for (const entry of pod.spec.resourceClaims ?? []) {
    const known = claimOf(pod, entry)
    const claim = cache.get(ResourceClaim, namespace, made.get(entry.name) ?? known?.name ?? '')
    if (claim === undefined) continue
    if (known?.isGenerated && !isOwn(claim, pod))
      throw new Error(`ResourceClaim ${namespace}/${claim.metadata.name} was not created for Pod ${namespace}/${name} (Pod is not owner)`)
    const { reservedFor = [], allocation } = claim.status ?? {}
    if (allocation === undefined || isReservedFor(claim, pod) || reservedFor.length >= mostConsumers) continue
    const status = { ...claim.status, reservedFor: [...reservedFor, { resource: 'pods', name, uid }] }
    await client.updateStatus(ResourceClaim, { ...claim, status })
  }
}
