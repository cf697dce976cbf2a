/** The history of daemon sets and stateful sets: each template they had, as a numbered ControllerRevision. */

import { ControllerRevision } from '#api/apps/v1/kinds.gen.ts'
import type { V1ControllerRevision } from '#api/apps/v1/types.gen.ts'
import type { V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import { controllerReference } from '#api/meta/owner-references.ts'
import { cachedSelector } from '#api/meta/selector.ts'
import { ignoreNotFound, isAlreadyExists } from '#api/meta/server-response.ts'
import type { V1LabelSelector, V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { defined } from '#base/defined.ts'
import { shortKey } from '#base/short-key.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { claimChildren } from '#controllers/workload/claim-children.ts'
import { sortedJson } from '#controllers/workload/sorted-json.ts'
import { templateHash } from '#controllers/workload/template-hash.ts'

type Owner = KubernetesObject & {
  metadata: V1ObjectMeta
  spec?: { template: V1PodTemplateSpec; selector: V1LabelSelector; revisionHistoryLimit?: number }
  status?: { collisionCount?: number }
}

export type History = {
  /** The revision of the present template. */
  current: V1ControllerRevision
  /** All of them, oldest first. */
  all: V1ControllerRevision[]
  collisionCount: number | undefined
}

export const hashLabel = 'controller-revision-hash'

/** What a revision keeps: a patch that replaces the template. Its keys are in order, so that it has the same bytes as upstream's. */
const patchOf = (template: V1PodTemplateSpec): object => JSON.parse(sortedJson({ spec: { template: { ...template, $patch: 'replace' } } }))

/** Revisions stay in the cache as they are, and are looked at with every change of a pod. */
const knownTexts = new WeakMap<object, string>()

function textOf(data: unknown): string {
  if (typeof data !== 'object' || data === null) return sortedJson(data)
  let text = knownTexts.get(data)
  if (text === undefined) {
    text = shortKey(sortedJson(data))
    knownTexts.set(data, text)
  }
  return text
}

/** By template, as the cache has it. */
const knownPatches = new WeakMap<V1PodTemplateSpec, object>()

function knownPatchOf(template: V1PodTemplateSpec): object {
  let patch = knownPatches.get(template)
  if (patch === undefined) {
    patch = patchOf(template)
    knownPatches.set(template, patch)
  }
  return patch
}

/** Finds or makes the revision of the present template; one that is found among the old ones becomes the newest. */
export async function syncHistory<T extends Owner>(kind: Kind<T>, owner: T, context: ReconcileContext): Promise<History | undefined> {
  const { spec } = owner
  if (spec === undefined) return undefined
  const all = await claimChildren(context, {
    ownerKind: kind,
    owner,
    childKind: ControllerRevision,
    selector: cachedSelector(spec.selector),
  })
  all.sort(byRevision)
  const data = knownPatchOf(spec.template)
  const newest = all.at(-1)
  const same = all.filter((revision) => textOf(revision.data) === textOf(data)).at(-1)
  const { client } = context
  if (same !== undefined && same === newest) return { current: same, all, collisionCount: owner.status?.collisionCount }
  const number = (newest?.revision ?? 0) + 1
  if (same !== undefined) {
    const current = await client.update(ControllerRevision, { ...same, revision: number })
    return { current, all: [...all.filter((revision) => revision !== same), current], collisionCount: owner.status?.collisionCount }
  }
  return create(kind, owner, data, number, all, context)
}

async function create<T extends Owner>(
  kind: Kind<T>,
  owner: T,
  data: object,
  revision: number,
  all: V1ControllerRevision[],
  { client }: ReconcileContext,
): Promise<History> {
  const { namespace = '', name = '' } = owner.metadata
  for (let collisionCount = owner.status?.collisionCount; ; collisionCount = (collisionCount ?? 0) + 1) {
    const hash = templateHash(data, collisionCount)
    const draft: V1ControllerRevision = {
      metadata: {
        namespace,
        name: `${name}-${hash}`,
        labels: { ...owner.spec?.template.metadata?.labels, [hashLabel]: hash },
        ...defined({ annotations: owner.metadata.annotations && { ...owner.metadata.annotations } }),
        ownerReferences: [controllerReference(owner, kind)],
      },
      data,
      revision,
    }
    try {
      const current = await client.create(ControllerRevision, draft)
      return { current, all: [...all, current], collisionCount }
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
      const taken = await client.get(ControllerRevision, namespace, draft.metadata.name ?? '')
      // The same data: we made it, and the cache has not seen it yet.
      if (textOf(taken.data) === textOf(data)) return { current: taken, all: [...all, taken], collisionCount }
    }
  }
}

const byRevision = (left: V1ControllerRevision, right: V1ControllerRevision): number => left.revision - right.revision

/** Deletes the oldest revisions that neither the set nor a pod uses, beyond the limit. */
export async function truncateHistory(
  { all }: History,
  isUsed: (revision: V1ControllerRevision) => boolean,
  limit: number,
  { client }: ReconcileContext,
): Promise<void> {
  const unused = all.filter((revision) => !isUsed(revision))
  for (const { metadata } of unused.slice(0, Math.max(0, unused.length - limit))) {
    await client.delete(ControllerRevision, metadata).catch(ignoreNotFound)
  }
}

/** The template that a revision keeps. */
export function templateOf({ data }: V1ControllerRevision): V1PodTemplateSpec | undefined {
  const template = (data as { spec?: { template?: V1PodTemplateSpec & { $patch?: string } } } | undefined)?.spec?.template
  if (template === undefined) return undefined
  const { $patch: _replace, ...rest } = template
  return rest
}
