import { validateVolumeSpec } from '#api/core/v1/persistent-volume/validate-persistent-volume.ts'
import { validateCsiDriverName } from '#api/core/v1/volume-sources.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { byteLength, dns1123Subdomain, mustBe, nameIsDns1123Subdomain, rangeError } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { defineResource } from '#api/resource.ts'
import { VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import type { V1VolumeAttachment, V1VolumeAttachmentSource, V1VolumeAttachmentStatus, V1VolumeError } from '#api/storage/v1/types.gen.ts'

const maxMetadataBytes = 256 * 1024
const maxMessageBytes = 1024

/** Asks a driver to attach a volume to a node, or to detach it. */
export const volumeAttachmentResource = defineResource(VolumeAttachment, {
  generation: false,
  returnsDeletedObject: true,
  revalidatesMetadata: false,

  prepareForCreate(attachment) {
    attachment.status = { attached: false }
  },
  validate: validateAttachment,
  validateUpdate,

  subresources: {
    status: {
      keepsMetadata: 'all',
      revalidatesMetadata: false,
      prepareForUpdate(next, prev, context) {
        if (context.isEnabled('MutableCSINodeAllocatableCount')) return
        dropErrorCode(next.status?.attachError, prev.status?.attachError)
        dropErrorCode(next.status?.detachError, prev.status?.detachError)
      },
      validateUpdate,
    },
  },

  columns: [
    nameColumn,
    {
      name: 'Attacher',
      type: 'string',
      format: 'name',
      description: { field: 'VolumeAttachmentSpec.attacher' },
      cell: ({ spec }) => spec?.attacher ?? '',
    },
    {
      name: 'PV',
      type: 'string',
      description: { field: 'VolumeAttachmentSource.persistentVolumeName' },
      cell: ({ spec }) => spec?.source?.persistentVolumeName ?? '',
    },
    {
      name: 'Node',
      type: 'string',
      description: { field: 'VolumeAttachmentSpec.nodeName' },
      cell: ({ spec }) => spec?.nodeName ?? '',
    },
    {
      name: 'Attached',
      type: 'boolean',
      description: { field: 'VolumeAttachmentStatus.attached' },
      cell: ({ status }) => status?.attached ?? false,
    },
    ageColumn,
  ],
})

function validateUpdate(next: V1VolumeAttachment, prev: V1VolumeAttachment, check: Check<V1VolumeAttachment>): void {
  validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsDns1123Subdomain })
  validateAttachment(next, check)
  mustNotChange(check.at('spec'), prev.spec, equalityOf(VolumeAttachment).at('spec'), 'storage.VolumeAttachmentSpec')
}

function validateAttachment({ spec, status }: V1VolumeAttachment, check: Check<V1VolumeAttachment>): void {
  validateCsiDriverName(spec?.attacher, check.at('spec').at('attacher'))
  validateSource(check.at('spec').at('source').or({}))
  mustBe(dns1123Subdomain, check.at('spec').at('nodeName').or(''))
  if (status != null) validateStatus(check.at('status').present)
  const volume = spec?.source?.persistentVolumeName
  if (volume != null) mustBe(dns1123Subdomain, check.at('spec').at('source').at('persistentVolumeName').present)
}

const exactlyOne = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'

function validateSource(check: Check<V1VolumeAttachmentSource>): void {
  const { inlineVolumeSpec, persistentVolumeName } = check.value
  if (inlineVolumeSpec == null && persistentVolumeName == null) check.required(exactlyOne)
  else if (inlineVolumeSpec != null && persistentVolumeName != null) check.forbidden(exactlyOne)
  else if (persistentVolumeName === '') check.at('persistentVolumeName').required('must specify non empty persistentVolumeName')
  else if (inlineVolumeSpec != null) {
    validateVolumeSpec(check.at('inlineVolumeSpec').present, '', { isInline: true, allowInvalidLabelValueInNodeAffinity: false })
  }
}

function validateStatus(check: Check<V1VolumeAttachmentStatus>): void {
  const { attachmentMetadata } = check.value
  let sizeBytes = 0
  for (const [key, value] of Object.entries(attachmentMetadata ?? {})) sizeBytes += byteLength(key) + byteLength(value)
  if (sizeBytes > maxMetadataBytes) check.at('attachmentMetadata').tooLong(maxMetadataBytes)
  validateError(check.at('attachError'))
  validateError(check.at('detachError'))
}

function validateError(check: Check<V1VolumeError | undefined>): void {
  const error = check.value
  if (error == null) return
  // Upstream names the other limit in this message.
  if (byteLength(error.message ?? '') > maxMessageBytes) check.at('message').tooLong(maxMetadataBytes)
  if (error.errorCode != null && error.errorCode < 0) check.at('errorCode').invalid(rangeError(0, 2 ** 31 - 1))
}

function dropErrorCode(next: V1VolumeError | undefined, prev: V1VolumeError | undefined): void {
  if (next != null && prev?.errorCode == null) delete next.errorCode
}
