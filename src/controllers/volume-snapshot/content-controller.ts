import { isNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import { errorMessage } from '#base/error-message.ts'
import { driverParameters, secretData, secretReference } from '#controllers/csi/class-parameters.ts'
import { readingFailures } from '#controllers/csi/driver-failure.ts'
import { withFinalizer } from '#controllers/kit/finalizer.ts'
import { writeStatus } from '#controllers/kit/write-status.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { VolumeSnapshotClass, VolumeSnapshotContent } from '#controllers/volume-snapshot/definitions.ts'
import { deletionSecretAnnotations, finalizers } from '#controllers/volume-snapshot/snapshot-finalizers.ts'
import type { CsiCaller } from '#wire/csi/csi-driver.ts'
import type { CsiSnapshot } from '#wire/csi/csi-types.ts'

const callMs = 120_000
const pollMs = 2000

/** Has the driver take and delete snapshots. Drivers that nobody here speaks for are left to their own sidecars. */
export function snapshotContentController(callerOf: (driver: string) => CsiCaller | undefined): Controller {
  const ours = (content: VolumeSnapshotContent) => callerOf(content.spec.driver)
  const reconciling = withFinalizer({
    for: VolumeSnapshotContent,
    name: finalizers.content,
    reconcile: (content, context) => take(content, ours(content), context),
    cleanup: (content, context) => remove(content, ours(content), context),
  })
  return defineController({
    name: 'volume-snapshot-content-controller',
    eventComponent: 'snapshot-controller',
    for: VolumeSnapshotContent,
    reads: [VolumeSnapshotClass],
    async reconcile(content, context) {
      if (ours(content) !== undefined) await reconciling(content, context)
    },
  })
}

async function take(content: VolumeSnapshotContent, caller: CsiCaller | undefined, context: ReconcileContext): Promise<void> {
  const { client, clock, events, requeueAfter } = context
  if (caller === undefined || content.status?.readyToUse) return
  try {
    const snapshot = await snapshotOf(content, caller, context)
    await writeStatus(client, VolumeSnapshotContent, content, statusOf(snapshot, clock.now()))
    if (!snapshot.readyToUse) requeueAfter(pollMs)
  } catch (error) {
    const message = `Failed to check and update snapshot content: ${errorMessage(error)}`
    if (content.status?.error?.message !== message) {
      events.warning(VolumeSnapshotContent, content, 'SnapshotCreationFailed', message)
      const failure = { message, time: formatTime(clock.now()) }
      await writeStatus(client, VolumeSnapshotContent, content, { ...content.status, readyToUse: false, error: failure })
    }
    throw error
  }
}

async function snapshotOf({ spec, metadata }: VolumeSnapshotContent, caller: CsiCaller, context: ReconcileContext): Promise<CsiSnapshot> {
  const { volumeHandle, snapshotHandle } = spec.source
  const given = context.cache.get(VolumeSnapshotClass, '', spec.volumeSnapshotClassName ?? '')?.parameters
  if (volumeHandle === undefined) return { snapshotId: snapshotHandle ?? '', sourceVolumeId: '', readyToUse: true }
  const name = `snapshot-${spec.volumeSnapshotRef.uid ?? metadata.uid ?? ''}`
  const secrets = await secretData(secretReference(given, 'snapshotter', { volume: name }), context.client)
  const { snapshot } = await readingFailures({}, () =>
    caller.call(
      'createSnapshot',
      { name, sourceVolumeId: volumeHandle, parameters: driverParameters(given), secrets },
      { timeoutMs: callMs },
    ),
  )
  if (snapshot === undefined) throw new Error('the driver has answered without a snapshot')
  return snapshot
}

/** Times are in nanoseconds here. */
function statusOf(
  { snapshotId, readyToUse, sizeBytes = 0, creationTime }: CsiSnapshot,
  nowMs: number,
): NonNullable<VolumeSnapshotContent['status']> {
  const takenMs = creationTime === undefined ? nowMs : creationTime.seconds * 1000 + Math.floor((creationTime.nanos ?? 0) / 1_000_000)
  return { snapshotHandle: snapshotId, readyToUse, creationTime: takenMs * 1_000_000, restoreSize: sizeBytes }
}

async function remove(
  content: VolumeSnapshotContent,
  caller: CsiCaller | undefined,
  { client }: ReconcileContext,
): Promise<undefined | 'pending'> {
  const { spec, status, metadata } = content
  const snapshotId = status?.snapshotHandle ?? spec.source.snapshotHandle
  if (caller === undefined) return 'pending'
  if (spec.deletionPolicy === 'Retain' || snapshotId === undefined) return undefined
  const { name, namespace } = deletionSecretAnnotations
  const [secret, space] = [metadata.annotations?.[name], metadata.annotations?.[namespace]]
  const reference = secret && space ? { name: secret, namespace: space } : undefined
  const secrets = await secretData(reference, client).catch((error: unknown) => {
    if (isNotFound(error)) return {}
    throw error
  })
  await readingFailures({}, () => caller.call('deleteSnapshot', { snapshotId, secrets }, { timeoutMs: callMs }))
  return undefined
}
