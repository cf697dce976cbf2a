/** Runs the rules of a kind without a server: for tests, and for tools that validate manifests where no cluster is. */
import { Check } from '#api/meta/check.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { dropStatus, putBackOtherPart } from '#api/meta/spec-and-status.ts'
import type { Cell, KubernetesObject, ResourceDefinition, RuleContext, UpdateRules } from '#api/resource.ts'
import { fromStored, storedDefinition, toStored } from '#api/scheme.ts'
import { atOnce } from '#base/steps.ts'

export type Tried<T> = {
  /** The object as it would be stored. */
  object: T
  /** `spec.group: Required value`, in the order clients see. */
  errors: string[]
  warnings: string[]
}

export type TryOptions = Partial<RuleContext> & { now?: string }

function contextOf({ now = '2026-01-02T03:04:05Z', isEnabled = () => false, ...rest }: TryOptions): RuleContext {
  return { ...rest, now, isEnabled }
}

const shownErrors = (check: Check<unknown>): string[] => check.errors.map(({ field, body }) => `${field}: ${body}`)

/** What a create makes of the object, which is left alone. */
export function tryCreate<T extends KubernetesObject>(definition: ResourceDefinition<T>, given: T, options: TryOptions = {}): Tried<T> {
  const object = structuredClone(given)
  const context = contextOf(options)
  const { scope, nameRule = nameIsDns1123Subdomain, finalizers = 'qualified' } = definition
  const check = new Check(object)
  definition.defaults?.(object)
  dropStatus(definition, object, context)
  definition.prepareForCreate?.(object, context)
  validateObjectMeta(check.at('metadata').with(object.metadata ?? {}), { scope, nameRule, finalizers })
  const steps = definition.validate?.(object, check, context)
  if (steps) atOnce(steps)
  return { object, errors: shownErrors(check), warnings: definition.warningsOnCreate?.(object) ?? [] }
}

/** What a create through another version than the stored one makes of the object, which is left alone. */
export function tryCreateThrough<T extends KubernetesObject, Stored extends KubernetesObject = T>(
  definition: ResourceDefinition<T>,
  given: T,
  options: TryOptions = {},
): Tried<Stored> & { /** The stored object in the version it came in. */ shown: T } {
  const object = structuredClone(given)
  definition.defaults?.(object)
  const target = storedDefinition(definition as ResourceDefinition) as ResourceDefinition<Stored>
  const converted = toStored(object, definition as ResourceDefinition) as Stored
  const tried = tryCreate(target, converted, { requestVersion: apiVersionOf(definition), ...options })
  return { ...tried, shown: fromStored(deepCopy(tried.object), definition as ResourceDefinition) as T }
}

/** What going from one object to the other means, through the object itself or through a subresource. Metadata is not validated twice. */
export function tryUpdate<T extends KubernetesObject>(
  definition: ResourceDefinition<T>,
  prev: T,
  given: T,
  { subresource, ...options }: TryOptions & { subresource?: string } = {},
): Tried<T> {
  const object = structuredClone(given)
  const context = contextOf(options)
  const rules: UpdateRules<T> = subresource === undefined ? definition : ((definition.subresources?.[subresource] ?? {}) as UpdateRules<T>)
  const check = new Check(object)
  definition.defaults?.(object)
  putBackOtherPart(definition, rules, object, prev, context)
  rules.prepareForUpdate?.(object, prev, context)
  const updating = rules.validateUpdate?.(object, prev, check, context)
  if (updating) atOnce(updating)
  return { object, errors: [...new Set(shownErrors(check))], warnings: rules.warningsOnUpdate?.(object, prev) ?? [] }
}

/** The cells of the object's row, by the names of their columns. */
export function tryRow<T extends KubernetesObject>(definition: ResourceDefinition<T>, object: T, nowMs = 0): Record<string, Cell> {
  return Object.fromEntries((definition.columns ?? []).map(({ name, cell }) => [name, cell(object, { nowMs })]))
}
