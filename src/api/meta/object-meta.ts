/** Validates the metadata every object has, on create and on update. `check` stands at `metadata`. */
import { sameObjectMeta } from '#api/meta/equality.ts'
import type { V1ManagedFieldsEntry, V1ObjectMeta, V1OwnerReference } from '#api/meta/v1/types.gen.ts'
import { remembered } from '#base/remembered.ts'
import { type Check, quoted } from './check.ts'
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

export function validateObjectMeta(check: Check<V1ObjectMeta>, { scope, nameRule, finalizers = 'qualified' }: ObjectMetaRules): void {
  const meta = check.value
  const { name = '', generateName = '' } = meta
  if (generateName !== '') for (const message of nameRule(generateName, true)) check.at('generateName').or('').invalid(message)
  if (name === '') check.at('name').required('name or generateName is required')
  else for (const message of nameRule(name, false)) check.at('name').or('').invalid(message)
  validateNamespaceOf(meta, scope, check.at('namespace'))
  nonNegative(check.at('generation'))
  validateLabels(check.at('labels'))
  validateAnnotations(check.at('annotations'))
  validateOwnerReferences(check.at('ownerReferences'))
  validateFinalizers(check.at('finalizers'))
  validateManagedFields(check.at('managedFields'))
  if (finalizers === 'qualified') validateQualifiedFinalizers(check.at('finalizers'))
}

function validateNamespaceOf({ namespace = '' }: V1ObjectMeta, scope: ObjectMetaRules['scope'], check: Check<unknown>): void {
  if (scope === 'Cluster') {
    if (namespace !== '') check.forbidden('not allowed on this type')
  } else if (namespace === '') check.required()
  else for (const message of nameIsDns1123Label(namespace, false)) check.invalid(message, namespace)
}

const immutableFields = ['name', 'namespace', 'uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const
const textFields: ReadonlySet<string> = new Set(['name', 'namespace', 'uid'])

export function validateObjectMetaUpdate(
  check: Check<V1ObjectMeta>,
  prev: V1ObjectMeta,
  { finalizers = 'qualified' }: Pick<ObjectMetaRules, 'finalizers'> = {},
): void {
  const next = check.value
  if (prev.deletionTimestamp !== undefined) validateNoNewFinalizers(check.at('finalizers'), prev.finalizers)
  if (!next.resourceVersion) check.at('resourceVersion').invalid('must be specified for an update', '')
  const generation = next.generation ?? 0
  if (generation < (prev.generation ?? 0)) check.at('generation').or(0).invalid('must not be decremented')
  for (const field of immutableFields) immutable(check, field, prev)
  validateLabels(check.at('labels'))
  validateAnnotations(check.at('annotations'))
  validateOwnerReferences(check.at('ownerReferences'))
  validateManagedFields(check.at('managedFields'))
  if (finalizers === 'qualified') validateQualifiedFinalizers(check.at('finalizers'))
}

function immutable(check: Check<V1ObjectMeta>, field: (typeof immutableFields)[number], prev: V1ObjectMeta): void {
  if (sameObjectMeta.at(field)(check.value[field], prev[field])) return
  const at = check.at(field)
  // What is no pointer is quoted as its zero.
  at.invalid('field is immutable', at.value ?? (textFields.has(field) ? '' : undefined))
}

function validateOwnerReferences(check: Check<readonly V1OwnerReference[] | undefined>): void {
  const references = check.value
  if (references === undefined) return
  let controller: string | undefined
  let written: unknown
  for (const reference of references) {
    validateOwnerReference(check.with(reference))
    if (reference.controller !== true) continue
    const name = `${reference.kind}/${reference.name}`
    if (controller !== undefined) {
      written ??= references.map(asWritten)
      check.invalid(`Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`, written)
    } else controller = name
  }
}

function validateOwnerReference(check: Check<V1OwnerReference>): void {
  const reference = check.value
  const { apiVersion = '', kind = '', name = '', uid = '' } = reference
  const { group, version } = parseApiVersion(apiVersion) ?? { group: '', version: '' }
  if (version === '') check.at('apiVersion').or('').invalid('version must not be empty')
  if (kind === '') check.at('kind').or('').invalid('must not be empty')
  if (name === '') check.at('name').or('').invalid('must not be empty')
  if (uid === '') check.at('uid').or('').invalid('must not be empty')
  // Events outlive what they tell of; owning something would delete it when the event expires.
  if (group === '' && version === 'v1' && kind === 'Event') {
    check.invalid('/v1, Kind=Event is disallowed from being an owner', asWritten(reference))
  }
}

/** In the order in which upstream writes the fields. */
function asWritten({ apiVersion = '', kind = '', name = '', uid = '', controller, blockOwnerDeletion }: V1OwnerReference): unknown {
  return { apiVersion, kind, name, uid, controller, blockOwnerDeletion }
}

const orphanFinalizer = 'orphan'
const foregroundFinalizer = 'foregroundDeletion'
const undomainedFinalizers = new Set(['kubernetes', orphanFinalizer, foregroundFinalizer])

export function validateFinalizers(check: Check<readonly string[] | undefined>): void {
  const finalizers = check.value
  if (finalizers === undefined) return
  for (const finalizer of finalizers) mustBe(qualifiedName, check.with(finalizer))
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    check.invalid(`finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`)
  }
}

/** What built-in kinds ask of finalizers beyond their format. */
export function validateQualifiedFinalizers(check: Check<readonly string[] | undefined>): void {
  for (const at of check.items()) {
    const finalizer = at.value
    if (finalizer.includes('/') || undomainedFinalizers.has(finalizer)) continue
    at.invalid('name is neither a standard finalizer name nor is it fully qualified')
  }
}

function validateNoNewFinalizers(check: Check<readonly string[] | undefined>, prev: readonly string[] = []): void {
  const next = check.value ?? []
  const known = new Set(prev)
  const added = [...new Set(next)].filter((finalizer) => !known.has(finalizer)).sort()
  if (added.length === 0) return
  const list = `[]string{${added.map(quoted).join(', ')}}`
  check.forbidden(`no new finalizers can be added if the object is being deleted, found new finalizers ${list}`)
}

const subresourceMaxBytes = 256

function validateManagedFields(check: Check<readonly V1ManagedFieldsEntry[] | undefined>): void {
  const entries = check.value
  if (entries === undefined) return
  for (const at of check.items()) {
    const { operation = '', fieldsType = '', subresource = '' } = at.value
    if (operation !== 'Apply' && operation !== 'Update') at.at('operation').or('').invalid('must be `Apply` or `Update`')
    if (fieldsType !== '' && fieldsType !== 'FieldsV1') at.at('fieldsType').or('').invalid('must be `FieldsV1`')
    validateFieldManager(at.at('manager').or(''))
    if (byteLength(subresource) > subresourceMaxBytes) at.at('subresource').tooLong(subresourceMaxBytes)
  }
}

const fieldManagerMaxBytes = 128
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u
/** The same few names come with every write. */
const isPrintable = remembered((text) => printable.test(text))

export function validateFieldManager(check: Check<string>): void {
  const manager = check.value
  if (byteLength(manager) > fieldManagerMaxBytes) check.tooLong(fieldManagerMaxBytes)
  else if (isPrintable(manager)) return
  if (printable.test(manager)) return
  let position = 0
  for (const char of manager) {
    if (!printable.test(char)) {
      const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
      check.invalid(`invalid character U+${code} (at position ${position})`)
    }
    position += byteLength(char)
  }
}
