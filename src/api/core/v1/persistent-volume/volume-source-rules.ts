/** Rules of the sources a persistent volume may have, in the order in which one wins over the others. */
import { validateNoBacksteps } from '#api/core/v1/pod-spec/paths.ts'
import type { V1GlusterfsPersistentVolumeSource, V1PersistentVolumeSpec, V1SecretReference } from '#api/core/v1/types.gen.ts'
import {
  iscsiNameTooLong,
  isIscsiNameTooLong,
  requireFields,
  validateAwsElasticBlockStore,
  validateAzureDisk,
  validateCsiDriverName,
  validateFc,
  validateFlexVolume,
  validateFlocker,
  validateGcePersistentDisk,
  validateHostPath,
  validateIscsiName,
  validateIscsiTarget,
  validateNfs,
  validateQuobyte,
  validateStorageOs,
} from '#api/core/v1/volume-sources.ts'
import type { Check } from '#api/meta/check.ts'
import { dns1123Label, dns1123Subdomain, mustBe } from '#api/meta/names.ts'

type SourceRule = {
  field: keyof V1PersistentVolumeSpec
  /** Where errors of the source are reported, if not at its field. */
  at?: string
  /** Where it is reported that there is another source already. */
  conflictAt?: string
  /** Upstream forgot to refuse it beside another. */
  mayBeSecond?: boolean
  /** `check` stands at the source; `name` is the volume's. */
  validate(spec: V1PersistentVolumeSpec, check: Check, name: string): void
}

export const volumeSourceRules: readonly SourceRule[] = [
  { field: 'hostPath', validate: ({ hostPath }, check) => hostPath && validateHostPath(hostPath, check) },
  {
    field: 'gcePersistentDisk',
    at: 'persistentDisk',
    validate: ({ gcePersistentDisk }, check) => gcePersistentDisk && validateGcePersistentDisk(gcePersistentDisk, check),
  },
  {
    field: 'awsElasticBlockStore',
    validate: ({ awsElasticBlockStore }, check) => awsElasticBlockStore && validateAwsElasticBlockStore(awsElasticBlockStore, check),
  },
  { field: 'glusterfs', validate: ({ glusterfs }, check) => glusterfs && validateGlusterfs(glusterfs, check) },
  { field: 'flocker', validate: ({ flocker }, check) => flocker && validateFlocker(flocker, check) },
  { field: 'nfs', validate: ({ nfs }, check) => nfs && validateNfs(nfs, check) },
  { field: 'rbd', validate: ({ rbd }, check) => rbd && requireFields(rbd, ['monitors', 'image'], check) },
  { field: 'quobyte', validate: ({ quobyte }, check) => quobyte && validateQuobyte(quobyte, check) },
  { field: 'cephfs', conflictAt: 'cephFS', validate: ({ cephfs }, check) => cephfs && requireFields(cephfs, ['monitors'], check) },
  { field: 'iscsi', validate: validateIscsi },
  {
    field: 'cinder',
    validate({ cinder }, check) {
      if (!cinder?.volumeID) check.at('volumeID').required()
      if (cinder?.secretRef) requireFields(cinder.secretRef, ['name', 'namespace'], check.at('secretRef'))
    },
  },
  { field: 'fc', validate: ({ fc }, check) => fc && validateFc(fc, check) },
  { field: 'flexVolume', mayBeSecond: true, validate: ({ flexVolume }, check) => flexVolume && validateFlexVolume(flexVolume, check) },
  {
    field: 'azureFile',
    validate({ azureFile }, check) {
      if (azureFile) requireFields(azureFile, ['secretName', 'shareName'], check)
      if (azureFile?.secretNamespace === '') check.at('secretNamespace').required()
    },
  },
  {
    field: 'vsphereVolume',
    validate: ({ vsphereVolume }, check) => vsphereVolume && requireFields(vsphereVolume, ['volumePath'], check),
  },
  {
    field: 'photonPersistentDisk',
    validate: ({ photonPersistentDisk }, check) => photonPersistentDisk && requireFields(photonPersistentDisk, ['pdID'], check),
  },
  {
    field: 'portworxVolume',
    validate: ({ portworxVolume }, check) => portworxVolume && requireFields(portworxVolume, ['volumeID'], check),
  },
  { field: 'azureDisk', validate: ({ azureDisk }, check) => azureDisk && validateAzureDisk(azureDisk, check) },
  {
    field: 'scaleIO',
    validate: ({ scaleIO }, check) => scaleIO && requireFields(scaleIO, ['gateway', 'system', 'volumeName'], check),
  },
  {
    field: 'local',
    validate({ local }, check) {
      if (local?.path) validateNoBacksteps(local.path, check.at('path'))
      else check.at('path').required()
    },
  },
  {
    field: 'storageos',
    validate({ storageos }, check) {
      if (!storageos) return
      validateStorageOs(storageos, check)
      if (storageos.secretRef && !storageos.secretRef.namespace) check.at('secretRef.namespace').required()
    },
  },
  { field: 'csi', validate: validateCsi },
]

function validateGlusterfs(glusterfs: V1GlusterfsPersistentVolumeSource, check: Check): void {
  requireFields(glusterfs, ['endpoints', 'path'], check)
  const namespace = glusterfs.endpointsNamespace
  const at = check.at('endpointsNamespace')
  if (namespace === '') at.invalid('', 'if the endpointnamespace is set, it must be a valid namespace name')
  else if (namespace !== undefined) mustBe(dns1123Label, namespace, at)
}

function validateIscsi({ iscsi }: V1PersistentVolumeSpec, check: Check, name: string): void {
  if (!iscsi) return
  if (!iscsi.targetPortal) check.at('targetPortal').required()
  if (isIscsiNameTooLong(name, iscsi)) check.at('targetportal').invalid(iscsi.targetPortal ?? '', iscsiNameTooLong)
  validateIscsiTarget(iscsi, 'must be valid format', check)
  if (iscsi.secretRef && !iscsi.secretRef.name) check.at('secretRef.name').required()
  if (iscsi.initiatorName !== undefined) validateIscsiName(iscsi.initiatorName, 'must be valid format', check.at('initiatorname'))
}

const secrets = ['controllerPublishSecretRef', 'controllerExpandSecretRef', 'nodePublishSecretRef', 'nodeExpandSecretRef'] as const

function validateCsi({ csi }: V1PersistentVolumeSpec, check: Check): void {
  validateCsiDriverName(csi?.driver, check.at('driver'))
  if (!csi?.volumeHandle) check.at('volumeHandle').required()
  for (const field of secrets) {
    const secret = csi?.[field]
    if (secret) validateSecretReference(secret, check.at(field))
  }
}

function validateSecretReference({ name, namespace }: V1SecretReference, check: Check): void {
  if (!name) check.at('name').required()
  else mustBe(dns1123Subdomain, name, check.at('name'))
  if (!namespace) check.at('namespace').required()
  else mustBe(dns1123Label, namespace, check.at('namespace'))
}
