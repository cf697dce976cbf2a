/** Judges persistent volumes; also the specs of volumes that are attached without one. */

import { volumeSourceRules } from '#api/core/v1/persistent-volume/volume-source-rules.ts'
import { validateAccessModes, volumeModes } from '#api/core/v1/persistent-volume-claim/claim-spec.ts'
import { hasInvalidValueInTerms, validateNodeSelector } from '#api/core/v1/pod-spec/node-selectors.ts'
import { validateNotBelowZero, validatePositiveQuantity } from '#api/core/v1/quantities.ts'
import type { V1PersistentVolume, V1PersistentVolumeSpec, V1VolumeNodeAffinity } from '#api/core/v1/types.gen.ts'
import { internalDiff } from '#api/core/v1/unified-diff.ts'
import { onlyOneVolumeType } from '#api/core/v1/volume-sources.ts'
import type { Check } from '#api/meta/check.ts'
import { semanticEqual } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { dns1123Subdomain, mustBe } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import type { RuleContext } from '#api/resource.ts'

export const mountOptionsAnnotation = 'volume.beta.kubernetes.io/mount-options'

export type VolumeSpecOptions = {
  /** The stored volume already has values that are refused today. */
  allowInvalidLabelValueInNodeAffinity: boolean
  /** A spec that stands for itself, in an attachment: CSI only, and nothing about claims. */
  isInline?: boolean
  skipsMountOptions?: boolean
}

export const volumeOptions = (prev?: V1PersistentVolume): VolumeSpecOptions => ({
  allowInvalidLabelValueInNodeAffinity: hasInvalidValueInTerms(prev?.spec.nodeAffinity?.required?.nodeSelectorTerms),
})

export function validatePersistentVolume({ metadata, spec }: V1PersistentVolume, check: Check, options: VolumeSpecOptions): void {
  validateVolumeSpec(spec, metadata.name ?? '', check.at('spec'), options)
  const hasMountOptions = metadata.annotations?.[mountOptionsAnnotation] !== undefined
  if (!hasMountOptions || options.skipsMountOptions || mountable.some((source) => spec[source])) return
  check.at(`metadata.annotations.${mountOptionsAnnotation}`).forbidden('may not specify mount options for this volume type')
}

const mountable = [
  ...(['gcePersistentDisk', 'awsElasticBlockStore', 'glusterfs', 'nfs', 'rbd', 'quobyte', 'iscsi'] as const),
  ...(['cinder', 'cephfs', 'azureFile', 'vsphereVolume', 'azureDisk', 'photonPersistentDisk'] as const),
]

const reclaimPolicies = ['Delete', 'Recycle', 'Retain']
const notInline = 'may not be specified in the context of inline volumes'

/** `check` stands at the spec. */
export function validateVolumeSpec(spec: V1PersistentVolumeSpec, name: string, check: Check, options: VolumeSpecOptions): void {
  const { isInline = false } = options
  if (isInline) {
    if (spec.claimRef) check.at('claimRef').forbidden(notInline)
    if (Object.keys(spec.capacity ?? {}).length > 0) check.at('capacity').forbidden(notInline)
    if (!spec.csi) check.at('csi').required('has to be specified in the context of inline volumes')
  }
  if (!spec.accessModes?.length) check.at('accessModes').required()
  validateAccessModes(spec.accessModes ?? [], check)
  if (!isInline) validateCapacity(spec, check.at('capacity'))
  validateReclaimPolicy(spec.persistentVolumeReclaimPolicy ?? '', isInline, check.at('persistentVolumeReclaimPolicy'))
  if (spec.nodeAffinity) {
    if (isInline) check.at('nodeAffinity').forbidden(notInline)
    else validateNodeAffinity(spec.nodeAffinity, check.at('nodeAffinity'), options)
  }
  validateSources(spec, name, check, isInline)
  const isRoot = spec.hostPath && /^\/+(?:\.?\/+)*\.?$/.test(spec.hostPath.path ?? '')
  if (isRoot && spec.persistentVolumeReclaimPolicy === 'Recycle') {
    check.at('persistentVolumeReclaimPolicy').forbidden("may not be 'recycle' for a hostPath mount of '/'")
  }
  if (spec.storageClassName) {
    if (isInline) check.at('storageClassName').forbidden(notInline)
    else mustBe(dns1123Subdomain, spec.storageClassName, check.at('storageClassName'))
  }
  validateVolumeMode(spec.volumeMode, isInline, check.at('volumeMode'))
  const className = spec.volumeAttributesClassName
  if (className === undefined) return
  if (className === '') check.at('volumeAttributesClassName').required('an empty string is disallowed')
  else mustBe(dns1123Subdomain, className, check.at('volumeAttributesClassName'))
  if (!spec.csi) check.at('csi').required('has to be specified when using volumeAttributesClassName')
}

function validateCapacity({ capacity = {} }: V1PersistentVolumeSpec, check: Check): void {
  const names = Object.keys(capacity)
  if (names.length === 0) check.required()
  if (capacity['storage'] === undefined || names.length > 1) {
    check.notSupported(names.length === 0 ? null : asInternal('{q', capacity), ['storage'])
  }
  for (const name of names) {
    validateNotBelowZero(capacity[name] ?? '0', check.key(name))
    validatePositiveQuantity(capacity[name] ?? '0', check.key(name))
  }
}

function validateReclaimPolicy(policy: string, isInline: boolean, check: Check): void {
  if (policy === '') return
  if (isInline) {
    if (policy !== 'Retain') check.forbidden('may only be Retain in the context of inline volumes')
  } else if (!reclaimPolicies.includes(policy)) check.notSupported(policy, reclaimPolicies)
}

function validateVolumeMode(mode: string | undefined, isInline: boolean, check: Check): void {
  if (mode === undefined) return
  if (isInline) {
    if (mode !== 'Filesystem') check.forbidden('may not specify volumeMode other than Filesystem in the context of inline volumes')
  } else if (!volumeModes.includes(mode)) check.notSupported(mode, volumeModes)
}

function validateNodeAffinity({ required }: V1VolumeNodeAffinity, check: Check, options: VolumeSpecOptions): void {
  if (required) validateNodeSelector(required, check.at('required'), options.allowInvalidLabelValueInNodeAffinity)
  else check.at('required').required('must specify required node constraints')
}

function validateSources(spec: V1PersistentVolumeSpec, name: string, check: Check, isInline: boolean): void {
  let sources = 0
  for (const { field, at, conflictAt, mayBeSecond, validate } of volumeSourceRules) {
    if (spec[field] === undefined) continue
    if (sources > 0 && !mayBeSecond) {
      check.at(conflictAt ?? field).forbidden(onlyOneVolumeType)
      continue
    }
    sources++
    validate(spec, check.at(at ?? field), name)
    if (field === 'local' && (isInline || !spec.nodeAffinity)) check.at('nodeAffinity').required('Local volume requires node affinity')
  }
  if (sources === 0) check.required('must specify a volume type')
}

export function validatePersistentVolumeUpdate(
  next: V1PersistentVolume,
  prev: V1PersistentVolume,
  check: Check,
  context: RuleContext,
): void {
  const [now, then] = [sourceOf(next.spec), sourceOf(prev.spec)]
  // The one part of a source that may come later.
  if (then.csi && !then.csi.controllerExpandSecretRef && now.csi?.controllerExpandSecretRef) {
    const { controllerExpandSecretRef: _, ...csi } = now.csi
    now.csi = csi
  }
  if (!semanticEqual(now, then)) {
    const diff = internalDiff('core.PersistentVolumeSource', then, now)
    check.at('spec.persistentvolumesource').forbidden(`spec.persistentvolumesource is immutable after creation\n${diff}`)
  }
  mustNotChange(next.spec.volumeMode, prev.spec.volumeMode, check.at('volumeMode'))
  if (prev.spec.nodeAffinity && !context.isEnabled('MutablePVNodeAffinity')) validateNodeAffinityUpdate(next.spec, prev.spec, check)
  const [className, oldClassName] = [next.spec.volumeAttributesClassName, prev.spec.volumeAttributesClassName]
  if (oldClassName !== undefined && className === undefined) {
    check.at('spec.volumeAttributesClassName').forbidden('update from non-nil value to nil is forbidden')
  }
}

function sourceOf(spec: V1PersistentVolumeSpec): V1PersistentVolumeSpec {
  const source: V1PersistentVolumeSpec = {}
  for (const { field } of volumeSourceRules) if (spec[field] !== undefined) Object.assign(source, { [field]: spec[field] })
  return source
}

const successors: Record<string, string> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
  'beta.kubernetes.io/os': 'kubernetes.io/os',
  'beta.kubernetes.io/arch': 'kubernetes.io/arch',
  'beta.kubernetes.io/instance-type': 'node.kubernetes.io/instance-type',
}

function validateNodeAffinityUpdate(next: V1PersistentVolumeSpec, prev: V1PersistentVolumeSpec, check: Check): void {
  if (semanticEqual(next.nodeAffinity, withNewLabels(prev.nodeAffinity, next.nodeAffinity))) return
  const message = 'field is immutable, except for updating from beta label to GA'
  check.at('nodeAffinity').invalid(asInternal('*core.VolumeNodeAffinity', next.nodeAffinity), message)
}

/** The old affinity, under the new names of labels where the new one uses them. */
function withNewLabels(prev: V1VolumeNodeAffinity | undefined, next: V1VolumeNodeAffinity | undefined): V1VolumeNodeAffinity | undefined {
  if (prev?.required === undefined) return prev
  const nextTerms = next?.required?.nodeSelectorTerms ?? []
  const nodeSelectorTerms = (prev.required.nodeSelectorTerms ?? []).map((term, index) => {
    if (term.matchExpressions === undefined) return term
    const matchExpressions = term.matchExpressions.map((requirement, place) => {
      const key = nextTerms[index]?.matchExpressions?.[place]?.key
      return key !== undefined && successors[requirement.key] === key ? { ...requirement, key } : requirement
    })
    return { ...term, matchExpressions }
  })
  return { required: { nodeSelectorTerms } }
}
