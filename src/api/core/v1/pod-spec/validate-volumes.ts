/** Judges the volumes of a pod. */

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
import { type Check, quoted } from '#api/meta/check.ts'
import { dns1123Label, dns1123Subdomain, mustBe } from '#api/meta/names.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'

type SourceRule = {
  /** Where errors of the source are reported, if not at its field. */
  at?: string
  /** Where it is reported that there is another source already. */
  conflictAt?: string
  validate(volume: V1Volume, check: Check, options: PodValidationOptions): void
}

const rule = (validate: SourceRule['validate'], places: Omit<SourceRule, 'validate'> = {}): SourceRule => ({ validate, ...places })

/** In the order in which one source wins over the others. */
const sourceRules: Partial<Record<keyof V1Volume, SourceRule>> = {
  emptyDir: rule(({ emptyDir }, check) => {
    if (emptyDir?.sizeLimit === undefined || parseQuantity(emptyDir.sizeLimit).sign >= 0) return
    check.at('sizeLimit').forbidden('SizeLimit field must be a valid resource quantity')
  }),
  hostPath: rule(({ hostPath }, check) => hostPath && validateHostPath(hostPath, check)),
  gitRepo: rule(({ gitRepo }, check) => gitRepo && validateGitRepo(gitRepo, check)),
  gcePersistentDisk: rule(({ gcePersistentDisk }, check) => gcePersistentDisk && validateGcePersistentDisk(gcePersistentDisk, check), {
    at: 'persistentDisk',
  }),
  awsElasticBlockStore: rule(
    ({ awsElasticBlockStore }, check) => awsElasticBlockStore && validateAwsElasticBlockStore(awsElasticBlockStore, check),
  ),
  secret: rule(({ secret }, check) => {
    if (!secret?.secretName) check.at('secretName').required()
    validateItems(secret, check)
  }),
  nfs: rule(({ nfs }, check) => nfs && validateNfs(nfs, check)),
  iscsi: rule(({ iscsi }, check) => {
    if (!iscsi) return
    if (!iscsi.targetPortal) check.at('targetPortal').required()
    const unknown = 'must be valid format starting with iqn, eui, or naa'
    validateIscsiTarget(iscsi, unknown, check)
    if (iscsi.initiatorName !== undefined) validateIscsiName(iscsi.initiatorName, unknown, check.at('initiatorname'))
  }),
  glusterfs: rule(({ glusterfs }, check) => glusterfs && requireFields(glusterfs, ['endpoints', 'path'], check)),
  flocker: rule(({ flocker }, check) => flocker && validateFlocker(flocker, check)),
  persistentVolumeClaim: rule(
    ({ persistentVolumeClaim }, check) => persistentVolumeClaim && requireFields(persistentVolumeClaim, ['claimName'], check),
  ),
  rbd: rule(({ rbd }, check) => rbd && requireFields(rbd, ['monitors', 'image'], check)),
  cinder: rule(({ cinder }, check) => {
    if (!cinder?.volumeID) check.at('volumeID').required()
    if (cinder?.secretRef && !cinder.secretRef.name) check.at('secretRef.name').required()
  }),
  cephfs: rule(({ cephfs }, check) => cephfs && requireFields(cephfs, ['monitors'], check), { conflictAt: 'cephFS' }),
  quobyte: rule(({ quobyte }, check) => quobyte && validateQuobyte(quobyte, check)),
  downwardAPI: rule(
    ({ downwardAPI }, check) => {
      validateFileMode(downwardAPI?.defaultMode, check.at('defaultMode'))
      for (const file of downwardAPI?.items ?? []) validateDownwardApiFile(file, check)
    },
    // The missing letter is upstream's.
    { conflictAt: 'downwarAPI' },
  ),
  fc: rule(({ fc }, check) => fc && validateFc(fc, check)),
  flexVolume: rule(({ flexVolume }, check) => flexVolume && validateFlexVolume(flexVolume, check)),
  configMap: rule(({ configMap }, check) => {
    if (!configMap?.name) check.at('name').required()
    validateItems(configMap, check)
  }),
  azureFile: rule(({ azureFile }, check) => azureFile && requireFields(azureFile, ['secretName', 'shareName'], check)),
  vsphereVolume: rule(({ vsphereVolume }, check) => vsphereVolume && requireFields(vsphereVolume, ['volumePath'], check)),
  photonPersistentDisk: rule(
    ({ photonPersistentDisk }, check) => photonPersistentDisk && requireFields(photonPersistentDisk, ['pdID'], check),
  ),
  portworxVolume: rule(({ portworxVolume }, check) => portworxVolume && requireFields(portworxVolume, ['volumeID'], check)),
  azureDisk: rule(({ azureDisk }, check) => azureDisk && validateAzureDisk(azureDisk, check)),
  storageos: rule(({ storageos }, check) => storageos && validateStorageOs(storageos, check)),
  projected: rule(({ projected }, check, options) => projected && validateProjected(projected, check, options)),
  scaleIO: rule(({ scaleIO }, check) => scaleIO && requireFields(scaleIO, ['gateway', 'system', 'volumeName'], check)),
  csi: rule(({ csi }, check) => {
    validateCsiDriverName(csi?.driver, check.at('driver'))
    const secret = csi?.nodePublishSecretRef
    if (!secret) return
    if (!secret.name) check.at('nodePublishSecretRef.name').required()
    else mustBe(dns1123Subdomain, secret.name, check.at('name'))
  }),
  ephemeral: rule(({ ephemeral }, check) => {
    const template = ephemeral?.volumeClaimTemplate
    if (!template) return check.at('volumeClaimTemplate').required()
    validateClaimTemplate(template, check.at('volumeClaimTemplate'))
  }),
  image: rule(({ image }, check, options) => {
    if (options.resourceIsPod && !image?.reference) check.at('reference').required()
    validatePullPolicy(image?.pullPolicy, check, 'pullPolicy')
  }),
}

const sourceOrder = new Map(Object.keys(sourceRules).map((source, index) => [source as keyof V1Volume, index]))

type FilesOfKeys = { defaultMode?: number; items?: V1KeyToPath[] }

function validateItems(source: FilesOfKeys | undefined, check: Check): void {
  validateFileMode(source?.defaultMode, check.at('defaultMode'))
  for (const [index, item] of (source?.items ?? []).entries()) validateKeyToPath(item, check.at('items').at(index))
}

/**
 * `check` stands at the list. Returns the volumes that are in order, which alone can be mounted.
 * `podMeta` is absent for templates: the claims of their ephemeral volumes have no names yet.
 */
export function validateVolumes(
  volumes: readonly V1Volume[],
  podMeta: V1ObjectMeta | undefined,
  check: Check,
  options: PodValidationOptions,
): Map<string, V1Volume> {
  const valid = new Map<string, V1Volume>()
  const podName = podMeta?.name
  for (let index = 0; index < volumes.length; index++) {
    const volume = volumes[index] as V1Volume
    const at = check.at(index)
    const before = check.errors.length
    validateSources(volume, podName, at, options)
    if (!volume.name) at.at('name').required()
    else for (const message of dns1123Label(volume.name)) at.at('name').invalid(volume.name, message)
    if (valid.has(volume.name ?? '')) at.at('name').duplicate(volume.name)
    if (check.errors.length === before) valid.set(volume.name, volume)
    if (podName && volume.persistentVolumeClaim) validateNotOfEphemeral(volume.persistentVolumeClaim.claimName, volumes, podName, at)
  }
  return valid
}

/** The claim of an ephemeral volume belongs to that volume alone. */
function validateNotOfEphemeral(claim: string, volumes: readonly V1Volume[], podName: string, check: Check): void {
  if (!volumes.some((volume) => volume.ephemeral && `${podName}-${volume.name}` === claim)) return
  check.at('persistentVolumeClaim.claimName').invalid(claim, 'must not reference a PVC that gets created for an ephemeral volume')
}

function validateSources(volume: V1Volume, podName: string | undefined, check: Check, options: PodValidationOptions): void {
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
  found?.validate(volume, check.at(found.at ?? first), options)
  if (first === 'iscsi') validateIscsiVolumeName(volume, check)
  if (first === 'ephemeral') validateEphemeralName(volume, podName, check)
  for (const other of sources?.slice(1) ?? []) {
    check.at(sourceRules[other]?.conflictAt ?? other).forbidden(onlyOneVolumeType)
    if (other === 'iscsi') validateIscsiVolumeName(volume, check)
  }
}

function validateIscsiVolumeName({ name, iscsi }: V1Volume, check: Check): void {
  if (iscsi && isIscsiNameTooLong(name ?? '', iscsi)) check.at('name').invalid(name ?? '', iscsiNameTooLong)
}

function validateEphemeralName({ name }: V1Volume, podName: string | undefined, check: Check): void {
  if (!podName || !name) return
  const claim = `${podName}-${name}`
  for (const message of dns1123Subdomain(claim)) check.at('name').invalid(name, `PVC name ${quoted(claim)}: ${message}`)
}
