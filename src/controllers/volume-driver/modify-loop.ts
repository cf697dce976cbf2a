import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1PersistentVolumeClaim, V1PersistentVolumeClaimStatus } from '#api/core/v1/types.gen.ts'
import { VolumeAttributesClass } from '#api/storage/v1/kinds.gen.ts'
import type { V1VolumeAttributesClass } from '#api/storage/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { keyOf } from '#client/informer/object-store.ts'
import { writeStatus } from '#controllers/kit/write-status.ts'
import { defineController, expectedFailure, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { claimCondition } from '#controllers/volume-driver/claim-conditions.ts'
import { type DriverLoop, isInfeasible } from '#controllers/volume-driver/driver-loop.ts'
import { ownVolumeOf } from '#controllers/volume-driver/own-volume.ts'

/** How long until what cannot be done is tried again. */
const infeasibleRetryMs = 300_000

/** Gives volumes the attributes of the class their claim asks for. */
export function modifyLoop(loop: DriverLoop): Controller {
  const { name } = loop.driver
  return defineController({
    name: `volume-modifier ${name}`,
    queueName: `modify ${name}`,
    eventComponent: `external-resizer ${name}`,
    for: PersistentVolumeClaim,
    reads: [PersistentVolume],
    concurrency: 100,
    // What we tell of failures is no reason to try again at once.
    ignores: (claim, prev) =>
      claim.status?.phase !== 'Bound' || wantedClass(claim) === undefined || (prev !== undefined && isSameRequest(claim, prev)),
    watches: [
      on(VolumeAttributesClass, ({ metadata }, cache) =>
        cache
          .list(PersistentVolumeClaim)
          .filter((claim) => wantedClass(claim) === metadata.name)
          .map(keyOf),
      ),
    ],
    async reconcile(claim, context) {
      const target = wantedClass(claim)
      const volume = ownVolumeOf(claim, loop.driver, context.cache)
      if (target === undefined || volume === undefined) return
      const attributesClass = context.cache.get(VolumeAttributesClass, '', target)
      if (attributesClass === undefined) {
        context.events.warning(PersistentVolumeClaim, claim, 'VolumeModifyFailed', `VAC "${target}" does not exist.`)
        return refuse(claim, { target, state: 'Pending' }, context)
      }
      const { driverName } = attributesClass
      if (driverName !== loop.driver.name) {
        // What another driver's parameters would mean to this one is not asked.
        const message = `VAC "${target}" does not belong to the driver ${loop.driver.name}: its driver is ${driverName}`
        context.events.warning(PersistentVolumeClaim, claim, 'VolumeModifyFailed', message)
        const conditions = claimCondition(claim.status ?? {}, 'ModifyVolumeError', { message }, context.clock)
        return refuse(claim, { target, state: 'Infeasible', conditions }, context)
      }
      await modify(claim, volume, attributesClass, loop, context)
    },
  })
}

const isSameRequest = (next: V1PersistentVolumeClaim, prev: V1PersistentVolumeClaim): boolean =>
  prev.status?.phase === 'Bound' &&
  next.metadata.uid === prev.metadata.uid &&
  next.spec.volumeAttributesClassName === prev.spec.volumeAttributesClassName &&
  next.status?.currentVolumeAttributesClassName === prev.status.currentVolumeAttributesClassName

/**
 * The class the volume is to have next; undefined when all is as it should be. What was begun may have been done:
 * whoever goes back to the class before has the volume modified once more.
 */
function wantedClass({ spec, status }: V1PersistentVolumeClaim): string | undefined {
  const { volumeAttributesClassName: wanted } = spec
  const { currentVolumeAttributesClassName: current, modifyVolumeStatus } = status ?? {}
  if (!wanted || (wanted === current && modifyVolumeStatus === undefined)) return undefined
  return wanted
}

type Refusal = { target: string; state: 'Pending' | 'Infeasible'; conditions?: V1PersistentVolumeClaimStatus['conditions'] }

async function refuse(
  claim: V1PersistentVolumeClaim,
  { target, state, conditions = claim.status?.conditions }: Refusal,
  { client }: ReconcileContext,
): Promise<void> {
  await writeStatus(client, PersistentVolumeClaim, claim, {
    ...claim.status,
    modifyVolumeStatus: { targetVolumeAttributesClassName: target, status: state },
    ...defined({ conditions }),
  })
}

async function modify(
  claim: V1PersistentVolumeClaim,
  volume: V1PersistentVolume,
  attributesClass: V1VolumeAttributesClass,
  { driver, signal }: DriverLoop,
  context: ReconcileContext,
): Promise<void> {
  const { client, clock, events } = context
  const target = attributesClass.metadata.name ?? ''
  const said = `volume ${volume.metadata.name} with vac ${target}`
  const before = claim.status?.modifyVolumeStatus
  const isBegun = before?.status === 'InProgress' && before.targetVolumeAttributesClassName === target
  let current = claim
  if (!isBegun) {
    current = await writeStatus(client, PersistentVolumeClaim, claim, {
      ...claim.status,
      modifyVolumeStatus: { targetVolumeAttributesClassName: target, status: 'InProgress' },
      conditions: claimCondition(
        claim.status ?? {},
        'ModifyingVolume',
        { message: `Modifying volume to "${target}" is in progress.` },
        clock,
      ),
    })
    events.normal(PersistentVolumeClaim, claim, 'VolumeModify', `external resizer is modifying ${said}`)
  }
  try {
    await driver.modify?.({ volume, claim: current, attributesClass }, signal)
  } catch (error) {
    if (signal.aborted) return
    events.warning(PersistentVolumeClaim, claim, 'VolumeModifyFailed', errorMessage(error))
    const status = current.status ?? {}
    const state = isInfeasible(error) ? 'Infeasible' : 'InProgress'
    await writeStatus(client, PersistentVolumeClaim, current, {
      ...status,
      modifyVolumeStatus: { targetVolumeAttributesClassName: target, status: state },
      conditions: claimCondition(status, 'ModifyVolumeError', { message: errorMessage(error) }, clock),
    })
    if (!isInfeasible(error)) throw expectedFailure(errorMessage(error))
    return context.requeueAfter(infeasibleRetryMs)
  }
  if (volume.spec.volumeAttributesClassName !== target) {
    await client.update(PersistentVolume, { ...volume, spec: { ...volume.spec, volumeAttributesClassName: target } })
  }
  const { modifyVolumeStatus: _, ...status } = current.status ?? {}
  const conditions = (status.conditions ?? []).filter(({ type }) => type !== 'ModifyingVolume' && type !== 'ModifyVolumeError')
  await writeStatus(client, PersistentVolumeClaim, current, { ...status, currentVolumeAttributesClassName: target, conditions })
  events.normal(PersistentVolumeClaim, claim, 'VolumeModifySuccessful', `external resizer modified ${said} successfully`)
}
