/** One look at a deployment: its replica sets, and the steps that change them. */

import { Deployment, ReplicaSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1Deployment, V1DeploymentStatus, V1ReplicaSet } from '#api/apps/v1/types.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalityOf, sameObjectMeta } from '#api/meta/equality.ts'
import { controllerReference, isControlledBy } from '#api/meta/owner-references.ts'
import { ignoreNotFound, isAlreadyExists } from '#api/meta/server-response.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { conditionOf, newCondition, reasons, setCondition } from '#controllers/deployment/conditions.ts'
import {
  annotationsOfNewSet,
  byRevision,
  hashLabel,
  hasSizeAnnotations,
  isSameTemplate,
  maxRevision,
  newAndOldSets,
  revisionAnnotation,
  revisionOf,
  sizeAnnotations,
} from '#controllers/deployment/revisions.ts'
import { isActiveSet, isSaturated, maxSurge, newSetSize, proportionalSizes, replicasOf } from '#controllers/deployment/sizes.ts'
import { countedStatus, hasProgressDeadline, progressCheckMs, rolloutStatus } from '#controllers/deployment/status.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { isNamespaceTerminating } from '#controllers/workload/pod-writes.ts'
import { byAge, isDeleting } from '#controllers/workload/pods.ts'
import { templateHash } from '#controllers/workload/template-hash.ts'

const sameStatus = equalityOf(Deployment).at('status')

export class Rollout {
  /** A private copy, whose status grows with what is found. */
  deployment: V1Deployment
  newSet: V1ReplicaSet | undefined
  readonly oldSets: V1ReplicaSet[]
  readonly #context: ReconcileContext

  constructor(deployment: V1Deployment, sets: readonly V1ReplicaSet[], context: ReconcileContext) {
    this.deployment = deepCopy(deployment)
    this.#context = context
    const found = newAndOldSets(deployment, sets)
    this.newSet = found.newSet
    this.oldSets = found.oldSets
  }

  get all(): V1ReplicaSet[] {
    return this.newSet === undefined ? [...this.oldSets] : [...this.oldSets, this.newSet]
  }

  /** Brings revision and annotations of the new replica set up to date; creates it if there is none and `creates` says so. */
  async syncNewSet({ creates }: { creates: boolean }): Promise<void> {
    const { client } = this.#context
    const revision = maxRevision(this.oldSets) + 1n
    const { newSet, deployment } = this
    if (newSet === undefined) {
      if (creates) await this.#createNewSet(revision)
      return
    }
    const annotations = annotationsOfNewSet(deployment, newSet.metadata.annotations ?? {}, revision)
    const minReadySeconds = deployment.spec?.minReadySeconds ?? 0
    if (
      !sameObjectMeta.at('annotations')(annotations, newSet.metadata.annotations ?? {}) ||
      (newSet.spec?.minReadySeconds ?? 0) !== minReadySeconds
    ) {
      const next = { ...newSet, metadata: { ...newSet.metadata, annotations }, spec: { ...newSet.spec, minReadySeconds } } as V1ReplicaSet
      this.newSet = await client.update(ReplicaSet, next)
      return
    }
    let needsUpdate = this.#setRevision(String(revisionOf(newSet)))
    if (hasProgressDeadline(deployment) && conditionOf(deployment.status, 'Progressing') === undefined) {
      this.#progressing('True', reasons.foundNewReplicaSet, `Found new replica set "${newSet.metadata.name}"`)
      needsUpdate = true
    }
    if (needsUpdate) await this.#writeDeploymentStatus()
  }

  async #createNewSet(revision: bigint): Promise<void> {
    const { client, events } = this.#context
    const { deployment } = this
    const { spec, metadata } = deployment
    if (spec === undefined) return
    const hash = templateHash(spec.template, deployment.status?.collisionCount)
    const labels = { ...spec.template.metadata?.labels, [hashLabel]: hash }
    const draft: V1ReplicaSet = {
      metadata: {
        name: `${(metadata.name ?? '').slice(0, 253 - hash.length - 1)}-${hash}`,
        namespace: metadata.namespace ?? '',
        labels,
        ownerReferences: [controllerReference(deployment, Deployment)],
      },
      spec: {
        replicas: 0,
        ...defined({ minReadySeconds: spec.minReadySeconds }),
        selector: { ...spec.selector, matchLabels: { ...spec.selector.matchLabels, [hashLabel]: hash } },
        template: { ...deepCopy(spec.template), metadata: { ...spec.template.metadata, labels } },
      },
    }
    const size = newSetSize(deployment, [...this.oldSets, draft], draft)
    if (draft.spec) draft.spec.replicas = size
    draft.metadata.annotations = {
      ...annotationsOfNewSet(deployment, {}, revision),
      ...sizeAnnotations(replicasOf(deployment), replicasOf(deployment) + maxSurge(deployment)),
    }
    let isNew = true
    try {
      this.newSet = await client.create(ReplicaSet, draft)
    } catch (error) {
      this.newSet = isAlreadyExists(error) ? await this.#ownSetOf(draft) : undefined
      if (this.newSet === undefined) return this.#couldNotCreate(draft, error)
      isNew = false
    }
    const { name } = this.newSet.metadata
    if (isNew && size > 0) events.normal(Deployment, deployment, 'ScalingReplicaSet', `Scaled up replica set ${name} from 0 to ${size}`)
    let needsUpdate = this.#setRevision(String(revision))
    if (isNew && hasProgressDeadline(deployment)) {
      this.#progressing('True', reasons.newReplicaSetCreated, `Created new replica set "${name}"`)
      needsUpdate = true
    }
    if (needsUpdate) await this.#writeDeploymentStatus()
  }

  /** The set that has the name already, if it is the one we wanted to make; else the name collides. */
  async #ownSetOf({ metadata, spec }: V1ReplicaSet): Promise<V1ReplicaSet | undefined> {
    const found = await this.#context.client.get(ReplicaSet, metadata.namespace ?? '', metadata.name ?? '')
    const [wanted, template] = [spec?.template, found.spec?.template]
    if (!isControlledBy(found, this.deployment) || wanted === undefined || template === undefined) return undefined
    return isSameTemplate(template, wanted) ? found : undefined
  }

  async #couldNotCreate({ metadata }: V1ReplicaSet, error: unknown): Promise<never> {
    const { events } = this.#context
    const { deployment } = this
    if (isAlreadyExists(error)) {
      // Another template has this hash: count up, which makes another hash the next time.
      deployment.status = { ...deployment.status, collisionCount: (deployment.status?.collisionCount ?? 0) + 1 }
      await this.#writeDeploymentStatus()
    } else if (!isNamespaceTerminating(error)) {
      const message = `Failed to create new replica set "${metadata.name}": ${errorMessage(error)}`
      if (hasProgressDeadline(deployment)) {
        this.#progressing('False', reasons.replicaSetCreateError, message)
        // The failure to create is thrown below; the next attempt writes the status again.
        await this.#writeDeploymentStatus().catch(() => undefined)
      }
      events.warning(Deployment, deployment, reasons.replicaSetCreateError, message)
    }
    throw error
  }

  /** Gives the set another size. With `forces` its notes about the deployment's size are brought up to date as well. */
  async scale(set: V1ReplicaSet, size: number, { forces = false } = {}): Promise<boolean> {
    const before = replicasOf(set)
    if (!forces && before === size) return false
    const { client, events } = this.#context
    const desired = replicasOf(this.deployment)
    const max = desired + maxSurge(this.deployment)
    if (before === size && hasSizeAnnotations(set, desired, max)) return false
    const next = deepCopy(set)
    if (next.spec) next.spec.replicas = size
    next.metadata.annotations = { ...next.metadata.annotations, ...sizeAnnotations(desired, max) }
    this.#replace(set, await client.update(ReplicaSet, next))
    if (before === size) return false
    const message = `Scaled ${before < size ? 'up' : 'down'} replica set ${set.metadata.name} from ${before} to ${size}`
    events.normal(Deployment, this.deployment, 'ScalingReplicaSet', message)
    return true
  }

  /** After the deployment was scaled, or while it is paused: every set keeps its share. */
  async scaleAll(): Promise<void> {
    const active = this.all.filter(isActiveSet)
    const only = active.length > 1 ? undefined : (active[0] ?? this.newSet ?? [...this.oldSets].sort(byAge).at(-1))
    if (active.length <= 1) {
      if (only !== undefined) await this.scale(only, replicasOf(this.deployment))
      return
    }
    if (isSaturated(this.deployment, this.newSet)) {
      for (const set of this.oldSets.filter(isActiveSet)) await this.scale(set, 0)
      return
    }
    if (this.deployment.spec?.strategy?.type !== 'RollingUpdate') return
    for (const [set, size] of proportionalSizes(this.deployment, active)) await this.scale(set, size, { forces: true })
  }

  /** Deletes the oldest of the empty sets beyond the history limit. */
  async cleanUp(): Promise<void> {
    const limit = this.deployment.spec?.revisionHistoryLimit
    if (limit === undefined) return
    const { client } = this.#context
    const cleanable = this.oldSets.filter((set) => !isDeleting(set)).sort(byRevision)
    for (const set of cleanable.slice(0, Math.max(0, cleanable.length - limit))) {
      const isBusy = (set.status?.replicas ?? 0) !== 0 || replicasOf(set) !== 0
      if (isBusy || (set.metadata.generation ?? 0) > (set.status?.observedGeneration ?? 0)) continue
      await client.delete(ReplicaSet, set.metadata).catch(ignoreNotFound)
    }
  }

  /** Whether pods of older revisions are still there, in whatever state but finished. */
  hasOldPods(): boolean {
    if (this.oldSets.some(({ status }) => (status?.replicas ?? 0) > 0)) return true
    return this.oldSets.some((set) => this.#context.cache.controlledBy(Pod, set).some((pod) => !isPodFinished(pod)))
  }

  async writeCounts(): Promise<void> {
    await this.#writeStatus(countedStatus(this.deployment, this, this.#statusOptions()))
  }

  async writeRolloutStatus(): Promise<void> {
    const status = rolloutStatus(this.deployment, this, this.#statusOptions())
    const isWritten = await this.#writeStatus(status)
    const checkMs = isWritten ? undefined : progressCheckMs(this.deployment, status, this.#context.clock.now())
    if (checkMs !== undefined) this.#context.requeueAfter(checkMs)
  }

  /** Notes that the deployment was paused or resumed, unless it is known to be stuck. */
  async notePause(): Promise<void> {
    const { deployment } = this
    if (!hasProgressDeadline(deployment)) return
    const condition = conditionOf(deployment.status, 'Progressing')
    if (condition?.reason === reasons.progressDeadlineExceeded) return
    const isNoted = condition?.reason === reasons.paused
    const isPaused = deployment.spec?.paused ?? false
    if (isPaused === isNoted) return
    if (isPaused) this.#progressing('Unknown', reasons.paused, 'Deployment is paused')
    else this.#progressing('Unknown', reasons.resumed, 'Deployment is resumed')
    await this.#writeDeploymentStatus()
  }

  #statusOptions() {
    const { clock, settings } = this.#context
    return { nowMs: clock.now(), reportsTerminating: settings.isEnabled('DeploymentReplicaSetTerminatingReplicas') }
  }

  async #writeStatus(status: V1DeploymentStatus): Promise<boolean> {
    if (sameStatus(this.deployment.status, status)) return false
    this.deployment.status = status
    await this.#writeDeploymentStatus()
    return true
  }

  async #writeDeploymentStatus(): Promise<void> {
    this.deployment = deepCopy(await this.#context.client.updateStatus(Deployment, this.deployment))
  }

  #progressing(status: string, reason: string, message: string): void {
    this.deployment.status ??= {}
    setCondition(this.deployment.status, newCondition('Progressing', status, reason, message, this.#context.clock.now()))
  }

  #setRevision(revision: string): boolean {
    const { metadata } = this.deployment
    if (metadata.annotations?.[revisionAnnotation] === revision) return false
    metadata.annotations = { ...metadata.annotations, [revisionAnnotation]: revision }
    return true
  }

  #replace(before: V1ReplicaSet, after: V1ReplicaSet): void {
    if (this.newSet === before) this.newSet = after
    const index = this.oldSets.indexOf(before)
    if (index >= 0) this.oldSets[index] = after
  }
}
