/** Volumes that have become larger: what is on them is made as large on the node, and the claim says so. */
import { PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolumeClaim, V1Pod } from '#api/core/v1/types.gen.ts'
import { wholeValueOf } from '#api/meta/quantity.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Client } from '#client/client.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'
import type { MountPlugin, MountRequest, MountTools } from '#kubelet/volumes/mountable/mount-plugin.ts'

export type GrowOptions = {
  plugin: MountPlugin
  request: MountRequest
  tools: MountTools
  events: VolumeEvents
}

export type VolumeEvents = Pick<EventRecorder, 'warning'> & Partial<Pick<EventRecorder, 'normal'>>

const resizing = ['Resizing', 'FileSystemResizePending']

/** Does nothing where the claim is as large as its volume. Failures are told in events and in the claim, and tried again later. */
export async function growIfLarger({ plugin, request, tools, events }: GrowOptions): Promise<void> {
  const { claim, volume, isReadOnly } = request.spec
  if (claim === undefined || volume === undefined || isReadOnly || plugin.expand === undefined) return
  const size = volume.spec?.capacity?.['storage'] ?? '0'
  if (wholeValueOf(size) <= wholeValueOf(claim.status?.capacity?.['storage'] ?? '0')) return
  const { pod } = request
  try {
    await plugin.expand(request, wholeValueOf(size), tools)
    await report(claim, size, tools.client)
    const said = `MountVolume.NodeExpandVolume succeeded for volume "${request.spec.name}" ${tools.nodeName}`
    events.normal?.(Pod, pod, 'FileSystemResizeSuccessful', said)
  } catch (error) {
    tell(pod, request, errorMessage(error), events)
  }
}

function tell(pod: V1Pod, { spec: { name } }: MountRequest, why: string, events: GrowOptions['events']): void {
  events.warning(Pod, pod, 'FileSystemResizeFailed', `NodeExpandVolume.NodeExpandVolume failed for volume "${name}" : ${why}`)
}

async function report(claim: V1PersistentVolumeClaim, size: string, client: Client): Promise<void> {
  const { status = {}, metadata } = claim
  const { storage: _, ...statuses } = status.allocatedResourceStatuses ?? {}
  const conditions = (status.conditions ?? []).filter(({ type }) => !resizing.includes(type))
  await client.updateStatus(PersistentVolumeClaim, {
    ...claim,
    metadata,
    status: { ...status, capacity: { ...status.capacity, storage: size }, conditions, allocatedResourceStatuses: statuses },
  })
}
