/** Validates the volumes of a pod. */

import { validateClaimTemplate } from '#api/core/v1/persistent-volume-claim/claim-spec.ts'
import { validateFileMode } from '#api/core/v1/pod-spec/paths.ts'
import { validatePullPolicy } from '#api/core/v1/pod-spec/validate-containers.ts'
import { validateDownwardApiFile, validateProjected } from '#api/core/v1/pod-spec/validate-projected-volume.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1KeyToPath, V1Volume } from '#api/core/v1/types.gen.ts'
import {
  iscsiNameTooLong,
  isIscsiNameTooLong,
  onlyOneVolumeType,
  requireFields,
  validateAwsElasticBlockStore,
  validateAzureDisk,
  validateCsiDriverName,
  validateFc,
  validateFlexVolume,
  validateFlocker,
  validateGcePersistentDisk,
  validateGitRepo,
  validateHostPath,
  validateIscsiName,
  validateIscsiTarget,
  validateKeyToPath,
  validateNfs,
  validateQuobyte,
  validateStorageOs,
} from '#api/core/v1/volume-sources.ts'
import { type Check, type DynamicCheck, quoted } from '#api/meta/check.ts'
import { dns1123Label, dns1123Subdomain, mustBe } from '#api/meta/names.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'

type SourceRule = {
  /** Where errors of the source are reported, if not at its field. */
  at?: string
  /** Where it is reported that there is another source already. */
  conflictAt?: string
  validate(volume: V1Volume, check: DynamicCheck, options: PodValidationOptions): void
}

const rule = (validate: SourceRule['validate'], places: Omit<SourceRule, 'validate'> = {}): SourceRule => ({ validate, ...places })

/** In the order in which one source wins over the others. */
const sourceRules: Partial<Record<keyof V1Volume, SourceRule>> = {
  emptyDir: rule(({ emptyDir }, check) => {
    if (emptyDir?.sizeLimit === undefined || parseQuantity(emptyDir.sizeLimit).sign >= 0) return
    check.at('sizeLimit').forbidden('SizeLimit field must be a valid resource quantity')
  }),
  hostPath: rule(({ hostPath }, check) => hostPath && validateHostPath(check.with(hostPath))),
  gitRepo: rule(({ gitRepo }, check) => gitRepo && validateGitRepo(check.with(gitRepo))),
  gcePersistentDisk: rule(({ gcePersistentDisk }, check) => gcePersistentDisk && validateGcePersistentDisk(check.with(gcePersistentDisk)), {
    at: 'persistentDisk',
  }),
  awsElasticBlockStore: rule(
    ({ awsElasticBlockStore }, check) => awsElasticBlockStore && validateAwsElasticBlockStore(check.with(awsElasticBlockStore)),
  ),
  secret: rule(({ secret }, check) => {
    if (!secret?.secretName) check.at('secretName').required()
    validateItems(check.with(secret))
  }),
  nfs: rule(({ nfs }, check) => nfs && validateNfs(check.with(nfs))),
  iscsi: rule(({ iscsi }, check) => {
    if (!iscsi) return
    if (!iscsi.targetPortal) check.at('targetPortal').required()
    const unknown = 'must be valid format starting with iqn, eui, or naa'
    validateIscsiTarget(check.with(iscsi), unknown)
    if (iscsi.initiatorName !== undefined) validateIscsiName(check.at('initiatorname').with(iscsi.initiatorName), unknown)
  }),
  glusterfs: rule(({ glusterfs }, check) => glusterfs && requireFields(check.with(glusterfs), ['endpoints', 'path'])),
  flocker: rule(({ flocker }, check) => flocker && validateFlocker(check.with(flocker))),
  persistentVolumeClaim: rule(
    ({ persistentVolumeClaim }, check) => persistentVolumeClaim && requireFields(check.with(persistentVolumeClaim), ['claimName']),
  ),
  rbd: rule(({ rbd }, check) => rbd && requireFields(check.with(rbd), ['monitors', 'image'])),
  cinder: rule(({ cinder }, check) => {
    if (!cinder?.volumeID) check.at('volumeID').required()
    if (cinder?.secretRef && !cinder.secretRef.name) check.at('secretRef').at('name').required()
  }),
  cephfs: rule(({ cephfs }, check) => cephfs && requireFields(check.with(cephfs), ['monitors']), { conflictAt: 'cephFS' }),
  quobyte: rule(({ quobyte }, check) => quobyte && validateQuobyte(check.with(quobyte))),
  downwardAPI: rule(
    ({ downwardAPI }, check) => {
      validateFileMode(check.at('defaultMode').with(downwardAPI?.defaultMode))
      for (const file of downwardAPI?.items ?? []) validateDownwardApiFile(check.with(file))
    },
    // The missing letter is upstream's.
    { conflictAt: 'downwarAPI' },
  ),
  fc: rule(({ fc }, check) => fc && validateFc(check.with(fc))),
  flexVolume: rule(({ flexVolume }, check) => flexVolume && validateFlexVolume(check.with(flexVolume))),
  configMap: rule(({ configMap }, check) => {
    if (!configMap?.name) check.at('name').required()
    validateItems(check.with(configMap))
  }),
  azureFile: rule(({ azureFile }, check) => azureFile && requireFields(check.with(azureFile), ['secretName', 'shareName'])),
  vsphereVolume: rule(({ vsphereVolume }, check) => vsphereVolume && requireFields(check.with(vsphereVolume), ['volumePath'])),
  photonPersistentDisk: rule(
    ({ photonPersistentDisk }, check) => photonPersistentDisk && requireFields(check.with(photonPersistentDisk), ['pdID']),
  ),
  portworxVolume: rule(({ portworxVolume }, check) => portworxVolume && requireFields(check.with(portworxVolume), ['volumeID'])),
  azureDisk: rule(({ azureDisk }, check) => azureDisk && validateAzureDisk(check.with(azureDisk))),
  storageos: rule(({ storageos }, check) => storageos && validateStorageOs(check.with(storageos))),
  projected: rule(({ projected }, check, options) => projected && validateProjected(check.with(projected), options)),
  scaleIO: rule(({ scaleIO }, check) => scaleIO && requireFields(check.with(scaleIO), ['gateway', 'system', 'volumeName'])),
  csi: rule(({ csi }, check) => {
    validateCsiDriverName(csi?.driver, check.at('driver'))
    const secret = csi?.nodePublishSecretRef
    if (!secret) return
    if (!secret.name) check.at('nodePublishSecretRef').at('name').required()
    else mustBe(dns1123Subdomain, check.at('name').with(secret.name))
  }),
  ephemeral: rule(({ ephemeral }, check) => {
    const template = ephemeral?.volumeClaimTemplate
    if (!template) return check.at('volumeClaimTemplate').required()
    validateClaimTemplate(check.at('volumeClaimTemplate').with(template))
  }),
  image: rule(({ image }, check, options) => {
    if (options.resourceIsPod && !image?.reference) check.at('reference').required()
    validatePullPolicy(check.at('pullPolicy').with(image?.pullPolicy))
  }),
}

const sourceOrder = new Map(Object.keys(sourceRules).map((source, index) => [source as keyof V1Volume, index]))

type FilesOfKeys = { defaultMode?: number; items?: V1KeyToPath[] }

function validateItems(check: Check<FilesOfKeys | undefined>): void {
  validateFileMode(check.at('defaultMode'))
  for (const at of check.at('items').items()) validateKeyToPath(at)
}

/**
 * `check` stands at the list. Returns the volumes that are in order, which alone can be mounted.
 * `podMeta` is absent for templates: the claims of their ephemeral volumes have no names yet.
 */
export function validateVolumes(
  check: Check<readonly V1Volume[]>,
  podMeta: V1ObjectMeta | undefined,
  options: PodValidationOptions,
): Map<string, V1Volume> {
  const volumes = check.value
  const valid = new Map<string, V1Volume>()
  let ephemeralClaims: Set<string> | undefined
  const podName = podMeta?.name
  for (let index = 0; index < volumes.length; index++) {
    const volume = volumes[index] as V1Volume
    const at = check.at(index)
    const before = check.errors.length
    validateSources(at, podName, options)
    if (!volume.name) at.at('name').required()
    else for (const message of dns1123Label(volume.name)) at.at('name').invalid(message)
    if (valid.has(volume.name ?? '')) at.at('name').duplicate()
    if (check.errors.length === before) valid.set(volume.name, volume)
    if (podName && volume.persistentVolumeClaim) {
      ephemeralClaims ??= new Set(volumes.flatMap(({ ephemeral, name }) => (ephemeral ? `${podName}-${name}` : [])))
      // The claim of an ephemeral volume belongs to that volume alone.
      if (ephemeralClaims.has(volume.persistentVolumeClaim.claimName)) {
        const message = 'must not reference a PVC that gets created for an ephemeral volume'
        at.at('persistentVolumeClaim').at('claimName').invalid(message)
      }
    }
  }
  return valid
}

function validateSources(check: Check<V1Volume>, podName: string | undefined, options: PodValidationOptions): void {
  const volume = check.value
  let sources: (keyof V1Volume)[] | undefined
  let first: keyof V1Volume | undefined
  for (const field in volume) {
    const source = field as keyof V1Volume
    if (!sourceOrder.has(source) || volume[source] === undefined) continue
    if (first === undefined) first = source
    else sources = [...(sources ?? [first]), source]
  }
  if (first === undefined) {
    check.required('must specify a volume type')
    return
  }
  if (sources !== undefined) {
    sources.sort((one, other) => (sourceOrder.get(one) ?? 0) - (sourceOrder.get(other) ?? 0))
    first = sources[0] as keyof V1Volume
  }
  const found = sourceRules[first]
  found?.validate(volume, check.dynamic(found.at ?? first), options)
  if (first === 'iscsi') validateIscsiVolumeName(check)
  if (first === 'ephemeral') validateEphemeralName(check, podName)
  for (const other of sources?.slice(1) ?? []) {
    check.dynamic(sourceRules[other]?.conflictAt ?? other).forbidden(onlyOneVolumeType)
    if (other === 'iscsi') validateIscsiVolumeName(check)
  }
}

function validateIscsiVolumeName(check: Check<V1Volume>): void {
  const { name, iscsi } = check.value
  if (iscsi && isIscsiNameTooLong(name ?? '', iscsi)) check.at('name').or('').invalid(iscsiNameTooLong)
}

function validateEphemeralName(check: Check<V1Volume>, podName: string | undefined): void {
  const { name } = check.value
  if (!podName || !name) return
  const claim = `${podName}-${name}`
  for (const message of dns1123Subdomain(claim)) check.at('name').invalid(`PVC name ${quoted(claim)}: ${message}`)
}
