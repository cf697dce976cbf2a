/** Validates what a claim asks of a volume; also in templates of claims. */
import { validatePositiveQuantity, validateResourceQuantity } from '#api/core/v1/quantities.ts'
import type {
  V1PersistentVolumeClaimSpec,
  V1PersistentVolumeClaimTemplate,
  V1TypedLocalObjectReference,
  V1TypedObjectReference,
} from '#api/core/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { validateAnnotations, validateLabelSelector, validateLabels } from '#api/meta/labels.ts'
import { dns1123Label, dns1123Subdomain, mustBe } from '#api/meta/names.ts'
import type { V1LabelSelector, V1ObjectMeta } from '#api/meta/v1/types.gen.ts'

/** What the rules let through because the stored claim already has it. */
export type ClaimSpecOptions = {
  allowInvalidLabelValueInSelector: boolean
  allowInvalidApiGroup: boolean
}

export const optionsForNewClaim: ClaimSpecOptions = { allowInvalidLabelValueInSelector: false, allowInvalidApiGroup: false }

function hasInvalidSelector(selector: V1LabelSelector | undefined): boolean {
  const check = new Check(selector)
  validateLabelSelector(check)
  return check.failed
}

export function optionsForStoredClaim(prev: V1PersistentVolumeClaimSpec | undefined): ClaimSpecOptions {
  return {
    allowInvalidLabelValueInSelector: hasInvalidSelector(prev?.selector),
    allowInvalidApiGroup: (prev?.dataSource?.apiGroup ?? prev?.dataSourceRef?.apiGroup ?? undefined) !== undefined,
  }
}

/** `check` stands at the template. */
export function validateClaimTemplate(check: Check<V1PersistentVolumeClaimTemplate>, options: ClaimSpecOptions = optionsForNewClaim): void {
  validateTemplateMeta(check.at('metadata').or({}))
  validateClaimSpec(check.at('spec').or({}), options)
}

const identityFields = [
  ...['name', 'generateName', 'namespace', 'selfLink', 'uid', 'resourceVersion', 'generation', 'creationTimestamp'],
  ...['deletionTimestamp', 'deletionGracePeriodSeconds', 'ownerReferences', 'finalizers', 'managedFields'],
] as const

/** Templates have labels and annotations; the rest belongs to what is made from them. `check` stands at the metadata. */
export function validateTemplateMeta(check: Check<V1ObjectMeta>): void {
  const meta = check.value
  validateAnnotations(check.at('annotations'))
  validateLabels(check.at('labels'))
  for (const field of identityFields) {
    const shown = field === 'uid' ? 'uID' : field
    if (meta[field]) check.dynamic(shown).forbidden('cannot be set')
  }
}

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
export const volumeModes = ['Block', 'Filesystem']

/** What is wrong with a mode is reported at the list. */
export function validateAccessModes(check: Check<readonly string[] | undefined>): void {
  const modes = check.value ?? []
  for (const mode of modes) if (!accessModes.includes(mode)) check.notSupported(accessModes, mode)
  const others = modes.filter((mode) => mode !== 'ReadWriteOncePod' && accessModes.includes(mode))
  if (modes.includes('ReadWriteOncePod') && others.length > 0) {
    check.forbidden('may not use ReadWriteOncePod with other access modes')
  }
}

/** `check` stands at the spec. */
export function validateClaimSpec(check: Check<V1PersistentVolumeClaimSpec>, options: ClaimSpecOptions): void {
  const spec = check.value
  const { accessModes: modes = [], selector, storageClassName, volumeMode, volumeAttributesClassName } = spec
  if (modes.length === 0) check.at('accessModes').required('at least 1 access mode is required')
  if (selector) {
    validateLabelSelector(check.at('selector'), { allowInvalidValues: options.allowInvalidLabelValueInSelector })
  }
  validateAccessModes(check.at('accessModes'))
  validateSize(check.at('resources').key('storage').with(spec.resources?.requests?.['storage']))
  if (storageClassName) mustBe(dns1123Subdomain, check.at('storageClassName').present)
  if (volumeMode !== undefined && !volumeModes.includes(volumeMode)) check.at('volumeMode').notSupported(volumeModes)
  validateDataSources(check, options)
  if (volumeAttributesClassName) mustBe(dns1123Subdomain, check.at('volumeAttributesClassName').present)
}

function validateSize(check: Check<string | undefined>): void {
  const size = check.value
  if (size === undefined) {
    check.required()
    return
  }
  const before = check.errors.length
  validatePositiveQuantity(check.present)
  if (check.errors.length === before) validateResourceQuantity('storage', check.present)
}

function validateDataSources(check: Check<V1PersistentVolumeClaimSpec>, options: ClaimSpecOptions): void {
  const spec = check.value
  const { dataSource, dataSourceRef } = spec
  if (dataSource) validateSource(check.at('dataSource').present, options)
  if (dataSourceRef) {
    validateSource(check.at('dataSourceRef').present, options)
    if (dataSourceRef.namespace) mustBe(dns1123Label, check.at('dataSourceRef').at('namespace').present)
  }
  if (!dataSource || !dataSourceRef) return
  // Upstream gives the path as the value, and paths have nothing to show.
  if (dataSourceRef.namespace) check.invalid('may not be specified when dataSourceRef.namespace is specified', {})
  else if (!isSameSource(dataSource, dataSourceRef)) check.invalid('must match dataSourceRef', {})
}

function isSameSource(one: V1TypedLocalObjectReference, other: V1TypedObjectReference): boolean {
  return (
    (one.apiGroup ?? undefined) === (other.apiGroup ?? undefined) &&
    (one.kind ?? '') === (other.kind ?? '') &&
    (one.name ?? '') === (other.name ?? '')
  )
}

function validateSource(check: Check<V1TypedLocalObjectReference>, options: ClaimSpecOptions): void {
  const source = check.value
  const { kind = '', name = '' } = source
  const apiGroup = source.apiGroup ?? ''
  if (name === '') check.at('name').required()
  if (kind === '') check.at('kind').required()
  if (apiGroup === '' && kind !== 'PersistentVolumeClaim') {
    check.invalid("must be 'PersistentVolumeClaim' when referencing the default apiGroup", kind)
  }
  if (apiGroup !== '' && !options.allowInvalidApiGroup) mustBe(dns1123Subdomain, check.at('apiGroup').or(''))
}
