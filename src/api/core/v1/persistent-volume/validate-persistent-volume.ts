/** Validates persistent volumes; also the specs of volumes that are attached without one. */

import { PersistentVolume } from '#api/core/v1/kinds.gen.ts'
import { volumeSourceRules } from '#api/core/v1/persistent-volume/volume-source-rules.ts'
import { validateAccessModes, volumeModes } from '#api/core/v1/persistent-volume-claim/claim-spec.ts'
import { hasInvalidValueInTerms, validateNodeSelector } from '#api/core/v1/pod-spec/node-selectors.ts'
import { validateNotBelowZero, validatePositiveQuantity } from '#api/core/v1/quantities.ts'
import type { V1PersistentVolume, V1PersistentVolumeSpec, V1VolumeNodeAffinity } from '#api/core/v1/types.gen.ts'
import { internalDiff } from '#api/core/v1/unified-diff.ts'
import { onlyOneVolumeType } from '#api/core/v1/volume-sources.ts'
import type { Check } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { dns1123Subdomain, mustBe } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import type { RuleContext } from '#api/resource.ts'

const sameSpec = equalityOf(PersistentVolume).at('spec')

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

export function validatePersistentVolume(check: Check<V1PersistentVolume>, options: VolumeSpecOptions): void {
  const { metadata, spec } = check.value
  validateVolumeSpec(check.at('spec'), metadata.name ?? '', options)
  const hasMountOptions = metadata.annotations?.[mountOptionsAnnotation] !== undefined
  if (!hasMountOptions || options.skipsMountOptions || mountable.some((source) => spec[source])) return
  check.dynamic(`metadata.annotations.${mountOptionsAnnotation}`).forbidden('may not specify mount options for this volume type')
}

const mountable = [
  ...(['gcePersistentDisk', 'awsElasticBlockStore', 'glusterfs', 'nfs', 'rbd', 'quobyte', 'iscsi'] as const),
  ...(['cinder', 'cephfs', 'azureFile', 'vsphereVolume', 'azureDisk', 'photonPersistentDisk'] as const),
]

const reclaimPolicies = ['Delete', 'Recycle', 'Retain']
const notInline = 'may not be specified in the context of inline volumes'

/** `check` stands at the spec. */
export function validateVolumeSpec(check: Check<V1PersistentVolumeSpec>, name: string, options: VolumeSpecOptions): void {
  const spec = check.value
  const { isInline = false } = options
  if (isInline) {
    if (spec.claimRef) check.at('claimRef').forbidden(notInline)
    if (Object.keys(spec.capacity ?? {}).length > 0) check.at('capacity').forbidden(notInline)
    if (!spec.csi) check.at('csi').required('has to be specified in the context of inline volumes')
  }
  if (!spec.accessModes?.length) check.at('accessModes').required()
  validateAccessModes(check.at('accessModes'))
  if (!isInline) validateCapacity(check.at('capacity'))
  validateReclaimPolicy(check.at('persistentVolumeReclaimPolicy').or(''), isInline)
  if (spec.nodeAffinity) {
    if (isInline) check.at('nodeAffinity').forbidden(notInline)
    else validateNodeAffinity(check.at('nodeAffinity').present, options)
  }
  validateSources(check, name, isInline)
  const isRoot = spec.hostPath && /^\/(?:\.?\/)*\.?$/.test(spec.hostPath.path ?? '')
  if (isRoot && spec.persistentVolumeReclaimPolicy === 'Recycle') {
    check.at('persistentVolumeReclaimPolicy').forbidden("may not be 'recycle' for a hostPath mount of '/'")
  }
  if (spec.storageClassName) {
    if (isInline) check.at('storageClassName').forbidden(notInline)
    else mustBe(dns1123Subdomain, check.at('storageClassName').present)
  }
  validateVolumeMode(check.at('volumeMode'), isInline)
  const className = spec.volumeAttributesClassName
  if (className === undefined) return
  if (className === '') check.at('volumeAttributesClassName').required('an empty string is disallowed')
  else mustBe(dns1123Subdomain, check.at('volumeAttributesClassName').present)
  if (!spec.csi) check.at('csi').required('has to be specified when using volumeAttributesClassName')
}

function validateCapacity(check: Check<V1PersistentVolumeSpec['capacity']>): void {
  const capacity = check.value ?? {}
  const names = Object.keys(capacity)
  if (names.length === 0) check.required()
  if (capacity['storage'] === undefined || names.length > 1) {
    check.notSupported(['storage'], names.length === 0 ? null : asInternal('{q', capacity))
  }
  for (const name of names) {
    validateNotBelowZero(check.key(name).or('0'))
    validatePositiveQuantity(check.key(name).or('0'))
  }
}

function validateReclaimPolicy(check: Check<string>, isInline: boolean): void {
  const policy = check.value
  if (policy === '') return
  if (isInline) {
    if (policy !== 'Retain') check.forbidden('may only be Retain in the context of inline volumes')
  } else if (!reclaimPolicies.includes(policy)) check.notSupported(reclaimPolicies)
}

function validateVolumeMode(check: Check<string | undefined>, isInline: boolean): void {
  const mode = check.value
  if (mode === undefined) return
  if (isInline) {
    if (mode !== 'Filesystem') check.forbidden('may not specify volumeMode other than Filesystem in the context of inline volumes')
  } else if (!volumeModes.includes(mode)) check.notSupported(volumeModes)
}

function validateNodeAffinity(check: Check<V1VolumeNodeAffinity>, options: VolumeSpecOptions): void {
  const { required } = check.value
  if (required) validateNodeSelector(check.at('required').present, options.allowInvalidLabelValueInNodeAffinity)
  else check.at('required').required('must specify required node constraints')
}

function validateSources(check: Check<V1PersistentVolumeSpec>, name: string, isInline: boolean): void {
  const spec = check.value
  let sources = 0
  for (const { field, at, conflictAt, mayBeSecond, validate } of volumeSourceRules) {
    if (spec[field] === undefined) continue
    if (sources > 0 && !mayBeSecond) {
      check.dynamic(conflictAt ?? field).forbidden(onlyOneVolumeType)
      continue
    }
    sources++
    validate(spec, check.dynamic(at ?? field), name)
    if (field === 'local' && (isInline || !spec.nodeAffinity)) check.at('nodeAffinity').required('Local volume requires node affinity')
  }
  if (sources === 0) check.required('must specify a volume type')
}

export function validatePersistentVolumeUpdate(check: Check<V1PersistentVolume>, prev: V1PersistentVolume, context: RuleContext): void {
  const next = check.value
  const [now, then] = [sourceOf(next.spec), sourceOf(prev.spec)]
  // The one part of a source that may come later.
  if (then.csi && !then.csi.controllerExpandSecretRef && now.csi?.controllerExpandSecretRef) {
    const { controllerExpandSecretRef: _, ...csi } = now.csi
    now.csi = csi
  }
  if (!sameSpec(now, then)) {
    const diff = internalDiff('core.PersistentVolumeSource', then, now)
    check.at('spec').dynamic('persistentvolumesource').forbidden(`spec.persistentvolumesource is immutable after creation\n${diff}`)
  }
  mustNotChange(check.dynamic('volumeMode').with(next.spec.volumeMode), prev.spec.volumeMode)
  if (prev.spec.nodeAffinity && !context.isEnabled('MutablePVNodeAffinity')) validateNodeAffinityUpdate(check.with(next.spec), prev.spec)
  const [className, oldClassName] = [next.spec.volumeAttributesClassName, prev.spec.volumeAttributesClassName]
  if (oldClassName !== undefined && className === undefined) {
    check.at('spec').at('volumeAttributesClassName').forbidden('update from non-nil value to nil is forbidden')
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

function validateNodeAffinityUpdate(check: Check<V1PersistentVolumeSpec>, prev: V1PersistentVolumeSpec): void {
  const next = check.value
  if (sameSpec.at('nodeAffinity')(next.nodeAffinity, withNewLabels(prev.nodeAffinity, next.nodeAffinity))) return
  const message = 'field is immutable, except for updating from beta label to GA'
  check.at('nodeAffinity').invalid(message, asInternal('*core.VolumeNodeAffinity', next.nodeAffinity))
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
