import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume } from '#api/core/v1/types.gen.ts'
import { ignoreNotFound, isAlreadyExists } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'
import { withFinalizer } from '#controllers/kit/finalizer.ts'
import { writeStatus } from '#controllers/kit/write-status.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { VolumeSnapshot, VolumeSnapshotClass, VolumeSnapshotContent } from '#controllers/volume-snapshot/definitions.ts'
import { defaultClassAnnotation, finalizers } from '#controllers/volume-snapshot/snapshot-finalizers.ts'

type Status = NonNullable<VolumeSnapshot['status']>

class SnapshotProblem extends Error {
  override name = 'SnapshotProblem'
  readonly reason: string
  constructor(reason: string, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Has every snapshot a content, and tells in its status how that is. */
export function volumeSnapshotController(): Controller {
  return defineController({
    name: 'volume-snapshot-controller',
    eventComponent: 'snapshot-controller',
    for: VolumeSnapshot,
    reads: [VolumeSnapshotClass],
    watches: [
      on(VolumeSnapshotContent, ({ spec: { volumeSnapshotRef: to } }) => [`${to.namespace}/${to.name}`]),
      // What waits for its claim to be bound.
      on(PersistentVolumeClaim, ({ metadata }, cache) =>
        cache
          .list(VolumeSnapshot, metadata?.namespace ?? '')
          .filter(({ spec, status }) => spec.source.persistentVolumeClaimName === metadata?.name && !status?.boundVolumeSnapshotContentName)
          .map((each) => `${each.metadata.namespace}/${each.metadata.name}`),
      ),
    ],
    reconcile: withFinalizer({ for: VolumeSnapshot, name: finalizers.snapshot, reconcile: bind, cleanup: release }),
  })
}

async function bind(snapshot: VolumeSnapshot, context: ReconcileContext): Promise<void> {
  const { client, events, clock } = context
  try {
    const { content, snapshot: current } = await contentOf(snapshot, context)
    if (content === undefined) return
    await writeStatus(client, VolumeSnapshot, current, statusFrom(content, current))
    if (content.status?.readyToUse && !snapshot.status?.readyToUse) {
      events.normal(VolumeSnapshot, snapshot, 'SnapshotReady', `Snapshot ${keyOf(snapshot)} is ready to use.`)
    }
  } catch (error) {
    if (!(error instanceof SnapshotProblem)) throw error
    const isNews = snapshot.status?.error?.message !== error.message
    if (isNews) events.warning(VolumeSnapshot, snapshot, error.reason, error.message)
    const failure = { message: error.message, time: formatTime(clock.now()) }
    if (isNews) await writeStatus(client, VolumeSnapshot, snapshot, { ...snapshot.status, readyToUse: false, error: failure })
    context.requeueAfter(retryMs)
  }
}

const retryMs = 15_000
const keyOf = ({ metadata }: VolumeSnapshot): string => `${metadata.namespace}/${metadata.name}`

type Bound = { content: VolumeSnapshotContent | undefined; snapshot: VolumeSnapshot }

async function contentOf(snapshot: VolumeSnapshot, context: ReconcileContext): Promise<Bound> {
  const { client, events } = context
  const { persistentVolumeClaimName, volumeSnapshotContentName } = snapshot.spec.source
  if (volumeSnapshotContentName !== undefined)
    return { content: await preparedContent(snapshot, volumeSnapshotContentName, context), snapshot }
  const name = `snapcontent-${snapshot.metadata.uid}`
  const present = await client.get(VolumeSnapshotContent, '', name).catch(ignoreNotFound)
  if (present !== undefined) return { content: present, snapshot }
  // Its content is gone: what it was taken of may be another by now.
  if (snapshot.status?.boundVolumeSnapshotContentName)
    throw new SnapshotProblem('SnapshotContentMissing', 'VolumeSnapshotContent is missing')
  const volume = await volumeOf(snapshot, persistentVolumeClaimName ?? '', context)
  const { snapshotClass, snapshot: classed } = await classOf(snapshot, volume.spec?.csi?.driver ?? '', context)
  const { namespace = '', uid = '', name: snapshotName = '' } = snapshot.metadata
  events.normal(VolumeSnapshot, snapshot, 'CreatingSnapshot', `Waiting for a snapshot ${keyOf(snapshot)} to be created by the CSI driver.`)
  const made = await client
    .create(VolumeSnapshotContent, {
      metadata: { name },
      spec: {
        deletionPolicy: snapshotClass.deletionPolicy,
        driver: snapshotClass.driver,
        source: { volumeHandle: volume.spec?.csi?.volumeHandle ?? '' },
        ...defined({ sourceVolumeMode: volume.spec?.volumeMode }),
        volumeSnapshotClassName: snapshotClass.metadata.name ?? '',
        volumeSnapshotRef: { apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot', namespace, name: snapshotName, uid },
      },
    } as VolumeSnapshotContent)
    .catch((error: unknown) => {
      if (isAlreadyExists(error)) return client.get(VolumeSnapshotContent, '', name)
      throw error
    })
  return { content: made, snapshot: classed }
}

async function preparedContent(snapshot: VolumeSnapshot, name: string, { client }: ReconcileContext): Promise<VolumeSnapshotContent> {
  const content = await client.get(VolumeSnapshotContent, '', name).catch(ignoreNotFound)
  if (content === undefined) throw new SnapshotProblem('SnapshotContentMissing', 'VolumeSnapshotContent is missing')
  const { namespace, name: bound, uid } = content.spec.volumeSnapshotRef
  const { metadata } = snapshot
  if (namespace !== metadata.namespace || bound !== metadata.name || (uid && uid !== metadata.uid)) {
    throw new SnapshotProblem('SnapshotContentMisbound', `VolumeSnapshotContent [${name}] is bound to a different snapshot`)
  }
  if (uid) return content
  const volumeSnapshotRef = { ...content.spec.volumeSnapshotRef, uid: metadata.uid ?? '' }
  return client.update(VolumeSnapshotContent, { ...content, spec: { ...content.spec, volumeSnapshotRef } })
}

async function volumeOf({ metadata }: VolumeSnapshot, claimName: string, { client }: ReconcileContext): Promise<V1PersistentVolume> {
  const claim = await client.get(PersistentVolumeClaim, metadata.namespace ?? '', claimName).catch(ignoreNotFound)
  const failed = 'Failed to create snapshot content with error'
  if (claim === undefined) {
    throw new SnapshotProblem(
      'SnapshotContentCreationFailed',
      `${failed} snapshot controller failed to update ${metadata.name} on API server: cannot get claim from snapshot`,
    )
  }
  if (claim.status?.phase !== 'Bound' || !claim.spec?.volumeName) {
    throw new SnapshotProblem(
      'SnapshotContentCreationFailed',
      `${failed} the PVC ${claimName} is not yet bound to a PV, will not attempt to take a snapshot`,
    )
  }
  const volume = await client.get(PersistentVolume, '', claim.spec.volumeName)
  if (volume.spec?.csi === undefined)
    throw new SnapshotProblem(
      'SnapshotContentCreationFailed',
      `${failed} cannot find CSI PersistentVolumeSource for volume ${claim.spec.volumeName}`,
    )
  return volume
}

async function classOf(snapshot: VolumeSnapshot, driver: string, { client, cache }: ReconcileContext) {
  const wanted = snapshot.spec.volumeSnapshotClassName
  const classes = cache.list(VolumeSnapshotClass)
  const defaults = classes.filter((each) => each.driver === driver && each.metadata.annotations?.[defaultClassAnnotation] === 'true')
  if (wanted === undefined && defaults.length > 1) {
    throw new SnapshotProblem(
      'SetDefaultSnapshotClassFailed',
      `Failed to set default snapshot class with error ${defaults.length} default snapshot classes were found`,
    )
  }
  const snapshotClass = wanted === undefined ? defaults[0] : classes.find(({ metadata }) => metadata.name === wanted)
  if (snapshotClass === undefined) {
    const message =
      wanted === undefined ? 'cannot find default snapshot class' : `volumesnapshotclass.snapshot.storage.k8s.io "${wanted}" not found`
    throw new SnapshotProblem(
      wanted === undefined ? 'SetDefaultSnapshotClassFailed' : 'GetSnapshotClassFailed',
      `Failed to set default snapshot class with error ${message}`,
    )
  }
  if (snapshotClass.driver !== driver)
    throw new SnapshotProblem(
      'SnapshotContentCreationFailed',
      `the snapshot class is for driver ${snapshotClass.driver}, the volume is of ${driver}`,
    )
  if (wanted !== undefined) return { snapshotClass, snapshot }
  const classed = await client.update(VolumeSnapshot, {
    ...snapshot,
    spec: { ...snapshot.spec, volumeSnapshotClassName: snapshotClass.metadata.name ?? '' },
  })
  return { snapshotClass, snapshot: classed }
}

function statusFrom({ metadata, status }: VolumeSnapshotContent, snapshot: VolumeSnapshot): Status {
  const { creationTime, restoreSize, readyToUse = false, error } = status ?? {}
  return {
    ...snapshot.status,
    boundVolumeSnapshotContentName: metadata.name ?? '',
    readyToUse,
    ...defined({
      creationTime: creationTime === undefined ? undefined : formatTime(Math.floor(creationTime / 1_000_000)),
      restoreSize: restoreSize === undefined ? undefined : String(restoreSize),
    }),
    ...(error === undefined ? { error: undefined } : { error }),
  } as Status
}

async function release(snapshot: VolumeSnapshot, { client }: ReconcileContext): Promise<undefined | 'pending'> {
  const name = snapshot.status?.boundVolumeSnapshotContentName ?? `snapcontent-${snapshot.metadata.uid}`
  const content = await client.get(VolumeSnapshotContent, '', name).catch(ignoreNotFound)
  if (content === undefined || content.spec.volumeSnapshotRef.uid !== snapshot.metadata.uid || content.spec.deletionPolicy === 'Retain')
    return undefined
  if (content.metadata.deletionTimestamp === undefined)
    await client.delete(VolumeSnapshotContent, { name }, { uid: content.metadata.uid ?? '' })
  return 'pending'
}
