/** Judges the metadata every object has, on create and on update. `check` stands at `metadata`. */
import type { V1ManagedFieldsEntry, V1ObjectMeta, V1OwnerReference } from '#api/meta/v1/types.gen.ts'
import { type Check, quoted } from './check.ts'
import { semanticEqual } from './equality.ts'
import { nonNegative } from './formats.ts'
import { parseApiVersion } from './gvk.ts'
import { validateAnnotations, validateLabels } from './labels.ts'
import { byteLength, mustBe, type NameRule, nameIsDns1123Label, qualifiedName } from './names.ts'

export type ObjectMetaRules = {
  scope: 'Namespaced' | 'Cluster'
  nameRule: NameRule
  /** Built-in kinds take finalizers under a domain, and the three old ones; kinds of upstream's extension servers take any name. */
  finalizers?: 'qualified' | 'any'
}

export function validateObjectMeta(meta: V1ObjectMeta, { scope, nameRule, finalizers = 'qualified' }: ObjectMetaRules, check: Check): void {
  const { name = '', generateName = '' } = meta
  if (generateName !== '') for (const message of nameRule(generateName, true)) check.at('generateName').invalid(generateName, message)
  if (name === '') check.at('name').required('name or generateName is required')
  else for (const message of nameRule(name, false)) check.at('name').invalid(name, message)
  validateNamespaceOf(meta, scope, check.at('namespace'))
  nonNegative(meta.generation, check.at('generation'))
  validateLabels(meta.labels, check.at('labels'))
  validateAnnotations(meta.annotations, check.at('annotations'))
  validateOwnerReferences(meta.ownerReferences, check.at('ownerReferences'))
  validateFinalizers(meta.finalizers, check.at('finalizers'))
  validateManagedFields(meta.managedFields, check.at('managedFields'))
  if (finalizers === 'qualified') validateQualifiedFinalizers(meta.finalizers, check.at('finalizers'))
}

function validateNamespaceOf({ namespace = '' }: V1ObjectMeta, scope: ObjectMetaRules['scope'], check: Check): void {
  if (scope === 'Cluster') {
    if (namespace !== '') check.forbidden('not allowed on this type')
  } else if (namespace === '') check.required()
  else for (const message of nameIsDns1123Label(namespace, false)) check.invalid(namespace, message)
}

export function validateObjectMetaUpdate(
  next: V1ObjectMeta,
  prev: V1ObjectMeta,
  check: Check,
  { finalizers = 'qualified' }: Pick<ObjectMetaRules, 'finalizers'> = {},
): void {
  if (prev.deletionTimestamp !== undefined) validateNoNewFinalizers(next.finalizers, prev.finalizers, check.at('finalizers'))
  if (!next.resourceVersion) check.at('resourceVersion').invalid('', 'must be specified for an update')
  const generation = next.generation ?? 0
  if (generation < (prev.generation ?? 0)) check.at('generation').invalid(generation, 'must not be decremented')
  immutable(next.name ?? '', prev.name ?? '', check.at('name'))
  immutable(next.namespace ?? '', prev.namespace ?? '', check.at('namespace'))
  immutable(next.uid ?? '', prev.uid ?? '', check.at('uid'))
  immutable(next.creationTimestamp, prev.creationTimestamp, check.at('creationTimestamp'))
  immutable(next.deletionTimestamp, prev.deletionTimestamp, check.at('deletionTimestamp'))
  immutable(next.deletionGracePeriodSeconds, prev.deletionGracePeriodSeconds, check.at('deletionGracePeriodSeconds'))
  validateLabels(next.labels, check.at('labels'))
  validateAnnotations(next.annotations, check.at('annotations'))
  validateOwnerReferences(next.ownerReferences, check.at('ownerReferences'))
  validateManagedFields(next.managedFields, check.at('managedFields'))
  if (finalizers === 'qualified') validateQualifiedFinalizers(next.finalizers, check.at('finalizers'))
}

function immutable(next: string | number | undefined, prev: string | number | undefined, check: Check): void {
  if (!semanticEqual(next, prev)) check.invalid(next, 'field is immutable')
}

function validateOwnerReferences(references: readonly V1OwnerReference[] | undefined, check: Check): void {
  if (references === undefined) return
  let controller: string | undefined
  for (const reference of references) {
    validateOwnerReference(reference, check)
    if (reference.controller !== true) continue
    const name = `${reference.kind}/${reference.name}`
    if (controller !== undefined) {
      check.invalid(
        references.map(asWritten),
        `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`,
      )
    } else controller = name
  }
}

function validateOwnerReference(reference: V1OwnerReference, check: Check): void {
  const { apiVersion = '', kind = '', name = '', uid = '' } = reference
  const { group, version } = parseApiVersion(apiVersion) ?? { group: '', version: '' }
  if (version === '') check.at('apiVersion').invalid(apiVersion, 'version must not be empty')
  if (kind === '') check.at('kind').invalid(kind, 'must not be empty')
  if (name === '') check.at('name').invalid(name, 'must not be empty')
  if (uid === '') check.at('uid').invalid(uid, 'must not be empty')
  // Events outlive what they tell of; owning something would delete it when the event expires.
  if (group === '' && version === 'v1' && kind === 'Event') {
    check.invalid(asWritten(reference), '/v1, Kind=Event is disallowed from being an owner')
  }
}

/** In the order in which upstream writes the fields. */
function asWritten({ apiVersion = '', kind = '', name = '', uid = '', controller, blockOwnerDeletion }: V1OwnerReference): unknown {
  return { apiVersion, kind, name, uid, controller, blockOwnerDeletion }
}

const orphanFinalizer = 'orphan'
const foregroundFinalizer = 'foregroundDeletion'
const undomainedFinalizers = new Set(['kubernetes', orphanFinalizer, foregroundFinalizer])

export function validateFinalizers(finalizers: readonly string[] | undefined, check: Check): void {
  if (finalizers === undefined) return
  for (const finalizer of finalizers) mustBe(qualifiedName, finalizer, check)
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    check.invalid(finalizers, `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`)
  }
}

/** What built-in kinds ask of finalizers beyond their format. */
export function validateQualifiedFinalizers(finalizers: readonly string[] | undefined, check: Check): void {
  for (const [index, finalizer] of (finalizers ?? []).entries()) {
    if (finalizer.includes('/') || undomainedFinalizers.has(finalizer)) continue
    check.at(index).invalid(finalizer, 'name is neither a standard finalizer name nor is it fully qualified')
  }
}

function validateNoNewFinalizers(next: readonly string[] = [], prev: readonly string[] = [], check: Check): void {
  const added = [...new Set(next)].filter((finalizer) => !prev.includes(finalizer)).sort()
  if (added.length === 0) return
  const list = `[]string{${added.map(quoted).join(', ')}}`
  check.forbidden(`no new finalizers can be added if the object is being deleted, found new finalizers ${list}`)
}

const subresourceMaxBytes = 256

function validateManagedFields(entries: readonly V1ManagedFieldsEntry[] | undefined, check: Check): void {
  if (entries === undefined) return
  for (const [index, { operation = '', fieldsType = '', manager = '', subresource = '' }] of entries.entries()) {
    const at = check.at(index)
    if (operation !== 'Apply' && operation !== 'Update') at.at('operation').invalid(operation, 'must be `Apply` or `Update`')
    if (fieldsType !== '' && fieldsType !== 'FieldsV1') at.at('fieldsType').invalid(fieldsType, 'must be `FieldsV1`')
    validateFieldManager(manager, at.at('manager'))
    if (byteLength(subresource) > subresourceMaxBytes) at.at('subresource').tooLong(subresourceMaxBytes)
  }
}

const fieldManagerMaxBytes = 128
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u

export function validateFieldManager(manager: string, check: Check): void {
  if (byteLength(manager) > fieldManagerMaxBytes) check.tooLong(fieldManagerMaxBytes)
  if (printable.test(manager)) return
  let position = 0
  for (const char of manager) {
    if (!printable.test(char)) {
      const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
      check.invalid(manager, `invalid character U+${code} (at position ${position})`)
    }
    position += byteLength(char)
  }
}
