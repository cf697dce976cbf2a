import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1PersistentVolumeClaim, V1PersistentVolumeClaimStatus } from '#api/core/v1/types.gen.ts'
import { capacityOf, sizeOf } from '#api/core/v1/volume/matching-volume.ts'
import { quantityOf } from '#api/meta/quantity.ts'
import { errorMessage } from '#base/error-message.ts'
import { writeStatus } from '#controllers/kit/write-status.ts'
import { defineController, expectedFailure, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { claimCondition } from '#controllers/volume-driver/claim-conditions.ts'
import { type DriverLoop, isInfeasible } from '#controllers/volume-driver/driver-loop.ts'
import { ownVolumeOf } from '#controllers/volume-driver/own-volume.ts'
import { resizeStatusOf, wantedSize } from '#controllers/volume-driver/resize-plan.ts'
import type { ExpandedVolume } from '#controllers/volume-driver/volume-driver.ts'

/** How long until what cannot be done is tried again. */
const infeasibleRetryMs = 300_000

/** Makes volumes larger whose claims ask for more. */
export function resizeLoop(loop: DriverLoop): Controller {
  const { name } = loop.driver
  return defineController({
    name: `volume-resizer ${name}`,
    queueName: `resize ${name}`,
    eventComponent: `external-resizer ${name}`,
    for: PersistentVolumeClaim,
    reads: [PersistentVolume],
    concurrency: 100,
    // What we tell of failures is no reason to try again at once.
    ignores: (claim, prev) => claim.status?.phase !== 'Bound' || (prev !== undefined && isSameRequest(claim, prev)),
    async reconcile(claim, context) {
      const volume = ownVolumeOf(claim, loop.driver, context.cache)
      const size = volume === undefined ? undefined : wantedSize(claim, volume)
      if (volume === undefined || size === undefined) return
      await resize(claim, volume, size, loop, context)
    },
  })
}

const isSameRequest = (next: V1PersistentVolumeClaim, prev: V1PersistentVolumeClaim): boolean =>
  prev.status?.phase === 'Bound' &&
  sizeOf(next) === sizeOf(prev) &&
  next.status?.capacity?.['storage'] === prev.status.capacity?.['storage'] &&
  next.metadata.uid === prev.metadata.uid

async function resize(
  claim: V1PersistentVolumeClaim,
  volume: V1PersistentVolume,
  sizeBytes: number,
  { driver, signal }: DriverLoop,
  context: ReconcileContext,
): Promise<void> {
  const { client, events } = context
  const storage = quantityOf(sizeBytes, 'BinarySI').toString()
  const isBegun = resizeStatusOf(claim) === 'ControllerResizeInProgress'
  let current = claim
  if (!isBegun) {
    current = await writeStatus(client, PersistentVolumeClaim, claim, {
      ...claim.status,
      allocatedResources: { ...claim.status?.allocatedResources, storage },
      allocatedResourceStatuses: { ...claim.status?.allocatedResourceStatuses, storage: 'ControllerResizeInProgress' },
      conditions: claimCondition(claim.status ?? {}, 'Resizing', { message: '' }, context.clock),
    })
    events.normal(PersistentVolumeClaim, claim, 'Resizing', `External resizer is resizing volume ${volume.metadata.name}`)
  }
  let expanded: ExpandedVolume | undefined
  try {
    expanded = await driver.expand?.({ volume, claim: current, sizeBytes }, signal)
  } catch (error) {
    if (signal.aborted) return
    await tellFailure(current, volume, error, driver.name, context)
    if (!isInfeasible(error)) throw expectedFailure(errorMessage(error))
    return context.requeueAfter(infeasibleRetryMs)
  }
  if (expanded === undefined) return
  const capacity = quantityOf(expanded.sizeBytes, 'BinarySI').toString()
  if (expanded.sizeBytes > capacityOf(volume)) {
    const spec = { ...volume.spec, capacity: { ...volume.spec.capacity, storage: capacity } }
    await client.update(PersistentVolume, { ...volume, spec })
  }
  await finish(current, expanded, context)
}

async function finish(
  claim: V1PersistentVolumeClaim,
  expanded: ExpandedVolume,
  { client, clock, events }: ReconcileContext,
): Promise<void> {
  const status = claim.status ?? {}
  const { storage: _, ...otherStatuses } = status.allocatedResourceStatuses ?? {}
  const withoutError = { ...status, conditions: claimCondition(status, 'ControllerResizeError', undefined, clock) }
  if (expanded.needsNode) {
    const message = 'Waiting for user to (re-)start a pod to finish file system resize of volume on node.'
    const pending = { ...withoutError, conditions: claimCondition(withoutError, 'Resizing', undefined, clock) }
    await writeStatus(client, PersistentVolumeClaim, claim, {
      ...pending,
      allocatedResourceStatuses: { ...otherStatuses, storage: 'NodeResizePending' },
      conditions: claimCondition(pending, 'FileSystemResizePending', { message }, clock),
    })
    return events.normal(PersistentVolumeClaim, claim, 'FileSystemResizeRequired', 'Require file system resize of volume on node')
  }
  const done: V1PersistentVolumeClaimStatus = {
    ...withoutError,
    capacity: { ...status.capacity, storage: quantityOf(expanded.sizeBytes, 'BinarySI').toString() },
    allocatedResourceStatuses: otherStatuses,
    conditions: withoutError.conditions.filter(({ type }) => type !== 'Resizing' && type !== 'FileSystemResizePending'),
  }
  await writeStatus(client, PersistentVolumeClaim, claim, done)
  events.normal(PersistentVolumeClaim, claim, 'VolumeResizeSuccessful', 'Resize volume succeeded')
}

async function tellFailure(
  claim: V1PersistentVolumeClaim,
  { metadata }: V1PersistentVolume,
  error: unknown,
  driver: string,
  { client, clock, events }: ReconcileContext,
): Promise<void> {
  const message = `resize volume "${metadata.name}" by resizer "${driver}" failed: ${errorMessage(error)}`
  events.warning(PersistentVolumeClaim, claim, 'VolumeResizeFailed', message)
  const status = claim.status ?? {}
  const storage = isInfeasible(error) ? 'ControllerResizeInfeasible' : 'ControllerResizeInProgress'
  await writeStatus(client, PersistentVolumeClaim, claim, {
    ...status,
    allocatedResourceStatuses: { ...status.allocatedResourceStatuses, storage },
    conditions: claimCondition(status, 'ControllerResizeError', { message: errorMessage(error) }, clock),
  })
}
