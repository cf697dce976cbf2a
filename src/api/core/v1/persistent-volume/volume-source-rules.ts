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
import type { Check, DynamicCheck } from '#api/meta/check.ts'
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
  validate(spec: V1PersistentVolumeSpec, check: DynamicCheck, name: string): void
}

export const volumeSourceRules: readonly SourceRule[] = [
  { field: 'hostPath', validate: ({ hostPath }, check) => hostPath && validateHostPath(check.with(hostPath)) },
  {
    field: 'gcePersistentDisk',
    at: 'persistentDisk',
    validate: ({ gcePersistentDisk }, check) => gcePersistentDisk && validateGcePersistentDisk(check.with(gcePersistentDisk)),
  },
  {
    field: 'awsElasticBlockStore',
    validate: ({ awsElasticBlockStore }, check) => awsElasticBlockStore && validateAwsElasticBlockStore(check.with(awsElasticBlockStore)),
  },
  { field: 'glusterfs', validate: ({ glusterfs }, check) => glusterfs && validateGlusterfs(check.with(glusterfs)) },
  { field: 'flocker', validate: ({ flocker }, check) => flocker && validateFlocker(check.with(flocker)) },
  { field: 'nfs', validate: ({ nfs }, check) => nfs && validateNfs(check.with(nfs)) },
  { field: 'rbd', validate: ({ rbd }, check) => rbd && requireFields(check.with(rbd), ['monitors', 'image']) },
  { field: 'quobyte', validate: ({ quobyte }, check) => quobyte && validateQuobyte(check.with(quobyte)) },
  { field: 'cephfs', conflictAt: 'cephFS', validate: ({ cephfs }, check) => cephfs && requireFields(check.with(cephfs), ['monitors']) },
  { field: 'iscsi', validate: validateIscsi },
  {
    field: 'cinder',
    validate({ cinder }, check) {
      if (!cinder?.volumeID) check.dynamic('volumeID').required()
      if (cinder?.secretRef) requireFields(check.dynamic('secretRef').with(cinder.secretRef), ['name', 'namespace'])
    },
  },
  { field: 'fc', validate: ({ fc }, check) => fc && validateFc(check.with(fc)) },
  { field: 'flexVolume', mayBeSecond: true, validate: ({ flexVolume }, check) => flexVolume && validateFlexVolume(check.with(flexVolume)) },
  {
    field: 'azureFile',
    validate({ azureFile }, check) {
      if (azureFile) requireFields(check.with(azureFile), ['secretName', 'shareName'])
      if (azureFile?.secretNamespace === '') check.dynamic('secretNamespace').required()
    },
  },
  {
    field: 'vsphereVolume',
    validate: ({ vsphereVolume }, check) => vsphereVolume && requireFields(check.with(vsphereVolume), ['volumePath']),
  },
  {
    field: 'photonPersistentDisk',
    validate: ({ photonPersistentDisk }, check) => photonPersistentDisk && requireFields(check.with(photonPersistentDisk), ['pdID']),
  },
  {
    field: 'portworxVolume',
    validate: ({ portworxVolume }, check) => portworxVolume && requireFields(check.with(portworxVolume), ['volumeID']),
  },
  { field: 'azureDisk', validate: ({ azureDisk }, check) => azureDisk && validateAzureDisk(check.with(azureDisk)) },
  {
    field: 'scaleIO',
    validate: ({ scaleIO }, check) => scaleIO && requireFields(check.with(scaleIO), ['gateway', 'system', 'volumeName']),
  },
  {
    field: 'local',
    validate({ local }, check) {
      if (local?.path) validateNoBacksteps(check.dynamic('path').with(local.path))
      else check.dynamic('path').required()
    },
  },
  {
    field: 'storageos',
    validate({ storageos }, check) {
      if (!storageos) return
      validateStorageOs(check.with(storageos))
      if (storageos.secretRef && !storageos.secretRef.namespace) check.dynamic('secretRef').dynamic('namespace').required()
    },
  },
  { field: 'csi', validate: validateCsi },
]

function validateGlusterfs(check: Check<V1GlusterfsPersistentVolumeSource>): void {
  const glusterfs = check.value
  requireFields(check.with(glusterfs), ['endpoints', 'path'])
  const namespace = glusterfs.endpointsNamespace
  const at = check.at('endpointsNamespace')
  if (namespace === '') at.invalid('if the endpointnamespace is set, it must be a valid namespace name', '')
  else if (namespace !== undefined) mustBe(dns1123Label, at.present)
}

function validateIscsi({ iscsi }: V1PersistentVolumeSpec, check: Check<V1PersistentVolumeSpec['iscsi']>, name: string): void {
  if (!iscsi) return
  if (!iscsi.targetPortal) check.at('targetPortal').required()
  if (isIscsiNameTooLong(name, iscsi)) check.dynamic('targetportal').invalid(iscsiNameTooLong, iscsi.targetPortal ?? '')
  validateIscsiTarget(check.with(iscsi), 'must be valid format')
  if (iscsi.secretRef && !iscsi.secretRef.name) check.at('secretRef').at('name').required()
  if (iscsi.initiatorName !== undefined) validateIscsiName(check.dynamic('initiatorname').with(iscsi.initiatorName), 'must be valid format')
}

const secrets = ['controllerPublishSecretRef', 'controllerExpandSecretRef', 'nodePublishSecretRef', 'nodeExpandSecretRef'] as const

function validateCsi({ csi }: V1PersistentVolumeSpec, check: Check<V1PersistentVolumeSpec['csi']>): void {
  validateCsiDriverName(csi?.driver, check.at('driver'))
  if (!csi?.volumeHandle) check.at('volumeHandle').required()
  for (const field of secrets) {
    const secret = csi?.[field]
    if (secret) validateSecretReference(check.at(field).with(secret))
  }
}

function validateSecretReference(check: Check<V1SecretReference>): void {
  const { name, namespace } = check.value
  if (!name) check.at('name').required()
  else mustBe(dns1123Subdomain, check.at('name').present)
  if (!namespace) check.at('namespace').required()
  else mustBe(dns1123Label, check.at('namespace').present)
}
