import { PersistentVolume } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume } from '#api/core/v1/types.gen.ts'
import { attachedVolume } from '#api/core/v1/volume/migrated-volume.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import { VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import type { V1VolumeAttachment } from '#api/storage/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { attachmentsOfVolume, indexAttachments } from '#controllers/attach-detach/attachments.ts'
import { defineController, expectedFailure, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { togetherAs } from '#controllers/runtime/together-as.ts'
import { on } from '#controllers/runtime/triggers.ts'
import type { DriverLoop } from '#controllers/volume-driver/driver-loop.ts'
import type { AttachRequest } from '#controllers/volume-driver/volume-driver.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

/** Attaches and detaches what attachments of the driver ask for. */
export function attachLoop({ driver, signal }: DriverLoop): Controller {
  const finalizer = attacherFinalizer(driver.name)
  const names = { name: `volume-attacher ${driver.name}`, alias: driver.name, serviceAccount: '' }
  const failed = (
    attachment: V1VolumeAttachment,
    error: unknown,
    field: 'attachError' | 'detachError',
    { client, clock }: ReconcileContext,
  ) =>
    client.patch(
      VolumeAttachment,
      attachment.metadata,
      {
        status: {
          attached: attachment.status?.attached ?? false,
          [field]: { message: errorMessage(error), time: formatTime(clock.now()) },
        },
      },
      { type: 'merge', subresource: 'status' },
    )

  const attachments = defineController({
    name: names.name,
    queueName: `attach ${driver.name}`,
    eventComponent: driver.name,
    for: VolumeAttachment,
    concurrency: 100,
    // What we tell of failures is no reason to try again at once.
    ignores: (next, prev) => next.spec.attacher !== driver.name || (prev !== undefined && isSameRequest(next, prev)),
    async reconcile(attachment, context) {
      if (attachment.spec.attacher !== driver.name) return
      const { client } = context
      if (isDeleting(attachment)) {
        if (!attachment.metadata.finalizers?.includes(finalizer)) return
        try {
          // Without its volume nobody can say what is to be detached.
          const request = await requestOf(attachment, context)
          if (request !== undefined) await driver.detach?.(request, signal)
        } catch (error) {
          if (signal.aborted) return
          await failed(attachment, error, 'detachError', context)
          throw expectedFailure(errorMessage(error))
        }
        const finalizers = attachment.metadata.finalizers.filter((each) => each !== finalizer)
        await client.update(VolumeAttachment, { ...attachment, metadata: { ...attachment.metadata, finalizers } }).catch(ignoreNotFound)
        return
      }
      if (attachment.status?.attached) return
      const request = await requestOf(attachment, context)
      const refusal =
        request === undefined
          ? `persistentvolume "${attachment.spec.source.persistentVolumeName}" not found`
          : whyNot(request.volume, finalizer)
      if (request === undefined || refusal !== undefined) return void (await failed(attachment, refusal, 'attachError', context))
      await protect(request.volume, finalizer, context)
      const held = await withFinalizer(attachment, finalizer, context)
      try {
        const metadata = await driver.attach?.(request, signal)
        const status = {
          attached: true,
          ...omitEmpty({ attachmentMetadata: metadata }),
        }
        await client.patch(
          VolumeAttachment,
          held.metadata,
          { status: { ...status, attachError: null } },
          { type: 'merge', subresource: 'status' },
        )
      } catch (error) {
        if (signal.aborted) return
        await failed(attachment, error, 'attachError', context)
        throw expectedFailure(errorMessage(error))
      }
    },
  })

  /** Volumes are kept until they are attached nowhere. */
  const volumes = defineController({
    name: names.name,
    queueName: `attach volumes ${driver.name}`,
    eventComponent: driver.name,
    for: PersistentVolume,
    indexes: indexAttachments,
    ignores: (volume) => !isDeleting(volume) || !volume.metadata.finalizers?.includes(finalizer),
    watches: [on(VolumeAttachment, ({ spec }, _cache, { isGone }) => (isGone ? [spec.source.persistentVolumeName ?? ''] : []))],
    async reconcile(volume, { cache, client }) {
      const { finalizers = [], name = '' } = volume.metadata
      if (!isDeleting(volume) || !finalizers.includes(finalizer) || attachmentsOfVolume(name, cache).length > 0) return
      const others = finalizers.filter((each) => each !== finalizer)
      await client.update(PersistentVolume, { ...volume, metadata: { ...volume.metadata, finalizers: others } })
    },
  })
  return togetherAs(names, [attachments, volumes])
}

const isSameRequest = (next: V1VolumeAttachment, prev: V1VolumeAttachment): boolean =>
  next.metadata.uid === prev.metadata.uid && isDeleting(next) === isDeleting(prev) && next.status?.attached === prev.status?.attached

/** As upstream's attacher has it, so that the one can follow the other. */
function attacherFinalizer(driver: string): string {
  const name = driver.replaceAll(/[^a-zA-Z0-9-]/g, '-')
  return `external-attacher/${name}${name.endsWith('-') ? 'X' : ''}`
}

/** Undefined when the volume is gone. */
async function requestOf({ spec, status }: V1VolumeAttachment, { cache, client }: ReconcileContext): Promise<AttachRequest | undefined> {
  const name = spec.source.persistentVolumeName ?? ''
  const volume = cache.get(PersistentVolume, '', name) ?? (await client.get(PersistentVolume, '', name).catch(ignoreNotFound))
  if (volume === undefined) return undefined
  const isReadOnly = volume.spec.csi?.readOnly ?? false
  return { volume, nodeName: spec.nodeName, isReadOnly, ...defined({ metadata: status?.attachmentMetadata }) }
}

function whyNot(volume: V1PersistentVolume, finalizer: string): string | undefined {
  const { finalizers = [], name } = volume.metadata
  if (isDeleting(volume) && !finalizers.includes(finalizer)) return `PersistentVolume "${name}" is marked for deletion`
  return attachedVolume(volume.spec, volume.metadata.labels) === undefined
    ? `PersistentVolume "${name}" is no volume of a driver`
    : undefined
}

async function protect(volume: V1PersistentVolume, finalizer: string, { client }: ReconcileContext): Promise<void> {
  const { finalizers = [] } = volume.metadata
  if (finalizers.includes(finalizer)) return
  await client.update(PersistentVolume, { ...volume, metadata: { ...volume.metadata, finalizers: [...finalizers, finalizer] } })
}

/** From here on it cannot go before the driver has detached the volume. */
async function withFinalizer(attachment: V1VolumeAttachment, finalizer: string, { client }: ReconcileContext): Promise<V1VolumeAttachment> {
  const { finalizers = [] } = attachment.metadata
  if (finalizers.includes(finalizer)) return attachment
  return client.update(VolumeAttachment, { ...attachment, metadata: { ...attachment.metadata, finalizers: [...finalizers, finalizer] } })
}
