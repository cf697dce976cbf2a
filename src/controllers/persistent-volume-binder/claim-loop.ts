import { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1PersistentVolume, V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import {
  allowsAccess,
  capacityOf,
  classNameOf,
  hasSameAttributes,
  hasSameMode,
  isBoundTo,
  sizeOf,
} from '#api/core/v1/volume/matching-volume.ts'
import { bindCompleted, boundByController, selectedNode } from '#api/core/v1/volume/volume-annotations.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { StorageClass } from '#api/storage/v1/kinds.gen.ts'
import { objectKey } from '#client/informer/object-store.ts'
import { bind } from '#controllers/persistent-volume-binder/bind.ts'
import type { BinderContext, BinderState } from '#controllers/persistent-volume-binder/binder-state.ts'
import { bestVolumeFor, unboundClaims, volumesOfClaims } from '#controllers/persistent-volume-binder/indexes.ts'
import { assignDefaultClass, markMigrated, requestVolume } from '#controllers/persistent-volume-binder/request-volume.ts'
import { writeUnboundStatus } from '#controllers/persistent-volume-binder/write-phases.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { claimsOfPod, indexPodsByClaim, podsOfClaim } from '#controllers/workload/pod-claims.ts'

const sameVolume = equalityOf(PersistentVolume)

/** Finds a volume for every claim, or has one made. */
export const claimLoop = (state: BinderState): Controller =>
  defineController({
    name: 'persistentvolume-binder-controller',
    queueName: 'claims',
    serviceAccount: 'persistent-volume-binder',
    eventComponent: 'persistentvolume-controller',
    for: PersistentVolumeClaim,
    indexes(cache) {
      volumesOfClaims(cache)
      unboundClaims(cache)
      indexPodsByClaim(cache)
    },
    watches: [
      // A volume that may be had concerns every claim of its class that has none.
      on(PersistentVolume, (volume, cache, { prev, isGone }) => {
        const { claimRef } = volume.spec
        if (claimRef) return [objectKey(claimRef.namespace ?? '', claimRef.name ?? '')]
        const isNews = !isGone && volume.status?.phase === 'Available' && !(prev && mayBeHadAlike(volume, prev))
        const waiting = isNews ? cache.byIndex(PersistentVolumeClaim, 'unbound by class', classNameOf(volume)) : []
        const naming = cache.byIndex(PersistentVolumeClaim, 'volume name', volume.metadata.name ?? '')
        return [...waiting, ...naming].map(({ metadata }) => objectKey(metadata.namespace ?? '', metadata.name ?? ''))
      }),
      on(StorageClass, ({ metadata }, cache) =>
        ['', metadata.name ?? '']
          .flatMap((name) => cache.byIndex(PersistentVolumeClaim, 'unbound by class', name))
          .map((claim) => objectKey(claim.metadata.namespace ?? '', claim.metadata.name ?? '')),
      ),
      // The event says whom a claim waits for.
      on(Pod, (pod, cache, { prev, isGone }) => {
        if (prev !== undefined || isGone || pod.spec.nodeName) return []
        const { namespace = '' } = pod.metadata
        const names = claimsOfPod(pod).filter((name) => !cache.get(PersistentVolumeClaim, namespace, name)?.spec.volumeName)
        return names.map((name) => objectKey(namespace, name))
      }),
    ],

    async reconcile(claim, context) {
      const binding = { ...context, ...state }
      const marked = await markMigrated(claim, binding)
      await (marked.metadata.annotations?.[bindCompleted] === undefined ? bindNew(marked, binding) : keepBound(marked, binding))
    },
    async reconcileGone(_namespace, _name, { key }) {
      state.metrics.forget(key)
    },
  })

/** Nothing has changed that a claim which waits could be waiting for. */
const mayBeHadAlike = (next: V1PersistentVolume, prev: V1PersistentVolume): boolean =>
  prev.status?.phase === 'Available' &&
  !prev.spec.claimRef &&
  sameVolume.at('spec')(next.spec, prev.spec) &&
  sameVolume.at('metadata').at('labels')(next.metadata.labels, prev.metadata.labels)

async function bindNew(claim: V1PersistentVolumeClaim, context: BinderContext): Promise<void> {
  const { cache, events, metrics, key } = context
  if (claim.spec.volumeName) return bindNamed(claim, claim.spec.volumeName, context)
  const bindsLate = cache.get(StorageClass, '', classNameOf(claim))?.volumeBindingMode === 'WaitForFirstConsumer'
  const volume = bestVolumeFor(claim, bindsLate, context)
  if (volume !== undefined) {
    try {
      await bind(volume, claim, context)
    } catch (error) {
      metrics.failed(key)
      throw error
    }
    metrics.succeeded(key)
    return
  }
  if (await assignDefaultClass(claim, context)) return
  if (bindsLate && claim.metadata.annotations?.[selectedNode] === undefined) {
    const [reason, message] = waitingFor(claim, context)
    events.normal(PersistentVolumeClaim, claim, reason, message)
  } else if (classNameOf(claim) !== '') {
    return requestVolume(claim, context)
  } else {
    const message = 'no persistent volumes available for this claim and no storage class is set'
    events.normal(PersistentVolumeClaim, claim, 'FailedBinding', message)
  }
  await writeUnboundStatus(claim, 'Pending', context)
}

function waitingFor(claim: V1PersistentVolumeClaim, { cache }: BinderContext): [reason: string, message: string] {
  const names = podsOfClaim(claim, cache)
    .filter((pod) => !isPodFinished(pod) && !pod.spec.nodeName)
    .map((pod) => pod.metadata.name)
  if (names.length === 0) return ['WaitForFirstConsumer', 'waiting for first consumer to be created before binding']
  return ['WaitForPodScheduled', `waiting for ${names.length > 1 ? 'pods' : 'pod'} ${names.join(',')} to be scheduled`]
}

/** Whoever made the claim asked for this volume. */
async function bindNamed(claim: V1PersistentVolumeClaim, name: string, context: BinderContext): Promise<void> {
  const { cache, events } = context
  const volume = cache.get(PersistentVolume, '', name)
  if (volume === undefined) return writeUnboundStatus(claim, 'Pending', context)
  if (!volume.spec.claimRef) {
    const mismatch = whyMismatched(volume, claim)
    if (mismatch === undefined) return bind(volume, claim, context)
    events.warning(PersistentVolumeClaim, claim, 'VolumeMismatch', `Cannot bind to requested volume "${name}": ${mismatch}`)
  } else if (isBoundTo(volume, claim)) {
    return bind(volume, claim, context)
  } else {
    events.warning(PersistentVolumeClaim, claim, 'FailedBinding', `volume "${name}" already bound to a different claim.`)
    if (claim.metadata.annotations?.[boundByController] !== undefined) {
      const { namespace, name: other } = volume.spec.claimRef
      throw new Error(`invalid binding of claim "${context.key}" to volume "${name}": volume already claimed by "${namespace}/${other}"`)
    }
  }
  await writeUnboundStatus(claim, 'Pending', context)
}

function whyMismatched(volume: V1PersistentVolume, claim: V1PersistentVolumeClaim): string | undefined {
  if (volume.metadata.deletionTimestamp !== undefined) return `the volume is marked for deletion "${volume.metadata.name}"`
  if (capacityOf(volume) < sizeOf(claim)) return 'requested PV is too small'
  if (classNameOf(volume) !== classNameOf(claim)) return 'storageClassName does not match'
  if (!hasSameAttributes(volume, claim)) return 'volumeAttributesClassName does not match'
  if (!hasSameMode(volume, claim)) return 'incompatible volumeMode'
  return allowsAccess(volume, claim) ? undefined : 'incompatible accessMode'
}

async function keepBound(claim: V1PersistentVolumeClaim, context: BinderContext): Promise<void> {
  const { volumeName } = claim.spec
  const lost = (reason: string, message: string) => writeUnboundStatus(claim, 'Lost', context, { type: 'Warning', reason, message })
  if (!volumeName) return lost('ClaimLost', 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!')
  const volume = context.cache.get(PersistentVolume, '', volumeName)
  if (volume === undefined) return lost('ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!')
  const owner = volume.spec.claimRef
  if (owner && owner.uid !== claim.metadata.uid) {
    return lost('ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly')
  }
  await bind(volume, claim, context)
}
