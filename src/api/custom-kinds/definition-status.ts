/** What a definition's status should say: which of its names it got, and whether its kind can be served. */

import { approvalOf, isCommunityGroup } from '#api/apiextensions/v1/approval.ts'
import { unsupportedField, validateStructural } from '#api/apiextensions/v1/schema/structural.ts'
import type {
  V1CustomResourceDefinition,
  V1CustomResourceDefinitionCondition,
  V1CustomResourceDefinitionNames,
  V1CustomResourceDefinitionStatus,
} from '#api/apiextensions/v1/types.gen.ts'
import { aggregateMessages, fieldErrorText } from '#api/meta/aggregate.ts'
import { Check, quoted } from '#api/meta/check.ts'
import { findCondition, isConditionTrue, isSameCondition, transitionTime, withCondition } from '#api/meta/find-condition.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'

type Definition = V1CustomResourceDefinition
export type DefinitionCondition = Pick<V1CustomResourceDefinitionCondition, 'type' | 'status' | 'reason' | 'message'>

/** Names that definitions of one group have got. */
export type TakenNames = { readonly resources: NameSet; readonly kinds: NameSet }
type NameSet = { has(name: string): boolean }

/** The same value where nothing is to be changed. `taken` are the names of its group, its own among them. */
export function nextStatus(definition: Definition, taken: TakenNames, now: string): V1CustomResourceDefinitionStatus {
  const status = definition.status ?? {}
  let conditions: readonly V1CustomResourceDefinitionCondition[] = status.conditions ?? []
  let acceptedNames = status.acceptedNames ?? { plural: '', kind: '' }
  if (!equalJson(definition.spec.names, acceptedNames)) {
    const validated = validateNames(definition.spec.names, acceptedNames, taken)
    acceptedNames = validated.accepted
    conditions = withDefinitionCondition(conditions, validated.condition, now)
  }
  conditions = established(conditions, now)
  const approval = approvalCondition(definition)
  if (approval !== undefined) conditions = withDefinitionCondition(conditions, approval, now)
  conditions = withStructure(definition, conditions, now)
  const next = { ...status, acceptedNames, conditions: [...conditions] }
  return equalJson(next, status) ? status : next
}

/** The same list where the condition says nothing that is not known. */
export function withDefinitionCondition(
  conditions: readonly V1CustomResourceDefinitionCondition[],
  next: DefinitionCondition,
  now: string,
): V1CustomResourceDefinitionCondition[] {
  const before = findCondition(conditions, next.type)
  if (isSameCondition(before, next)) return conditions as V1CustomResourceDefinitionCondition[]
  return withCondition(conditions, { ...next, lastTransitionTime: transitionTime(before, next.status, now) })
}

type Names = V1CustomResourceDefinitionNames

function validateNames(asked: Names, accepted: Names, taken: TakenNames): { accepted: Names; condition: DefinitionCondition } {
  const got: Names = { ...accepted }
  let conflict: { reason: string; message: string } | undefined
  const settle = (field: 'plural' | 'singular' | 'kind' | 'listKind', used: NameSet) => {
    const name = asked[field] ?? ''
    if (name !== (accepted[field] ?? '') && used.has(name)) {
      conflict = { reason: `${field[0]?.toUpperCase()}${field.slice(1)}Conflict`, message: inUse(name) }
    } else if (asked[field] === undefined) delete (got as Partial<Names>)[field]
    else got[field] = name
  }
  settle('plural', taken.resources)
  settle('singular', taken.resources)
  if (!equalJson(asked.shortNames, accepted.shortNames)) {
    const refused = (asked.shortNames ?? []).filter((name) => !accepted.shortNames?.includes(name) && taken.resources.has(name))
    if (refused.length > 0) conflict = { reason: 'ShortNamesConflict', message: aggregateMessages(refused.map(inUse)) }
    else if (asked.shortNames === undefined) delete got.shortNames
    else got.shortNames = asked.shortNames
  }
  settle('kind', taken.kinds)
  settle('listKind', taken.kinds)
  if (asked.categories === undefined) delete got.categories
  else got.categories = asked.categories
  const condition = conflict
    ? { type: 'NamesAccepted', status: 'False', ...conflict }
    : { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
  return { accepted: got, condition }
}

const inUse = (name: string): string => `${quoted(name)} is already in use`

/** Once established, a kind stays so, whatever becomes of its names. */
function established(conditions: readonly V1CustomResourceDefinitionCondition[], now: string): V1CustomResourceDefinitionCondition[] {
  const isAccepted = isConditionTrue(conditions, 'NamesAccepted')
  const isEstablished = isConditionTrue(conditions, 'Established')
  if (isEstablished) return conditions as V1CustomResourceDefinitionCondition[]
  const message = isAccepted ? 'the initial names have been accepted' : 'not all names are accepted'
  const next = isAccepted ? { status: 'True', reason: 'InitialNamesAccepted' } : { status: 'False', reason: 'NotAccepted' }
  return withDefinitionCondition(conditions, { type: 'Established', ...next, message }, now)
}

function approvalCondition(definition: Definition): DefinitionCondition | undefined {
  if (!isCommunityGroup(definition.spec.group)) return undefined
  const { state, reason: message } = approvalOf(definition)
  const reasons = {
    invalid: 'InvalidAnnotation',
    missing: 'MissingAnnotation',
    approved: 'ApprovedAnnotation',
    bypassed: 'UnapprovedAnnotation',
  }
  return {
    type: 'KubernetesAPIApprovalPolicyConformant',
    status: state === 'approved' ? 'True' : 'False',
    reason: reasons[state],
    message,
  }
}

function withStructure(
  definition: Definition,
  conditions: readonly V1CustomResourceDefinitionCondition[],
  now: string,
): V1CustomResourceDefinitionCondition[] {
  const found = structureCondition(definition)
  if (found !== undefined) return withDefinitionCondition(conditions, found, now)
  const isThere = findCondition(conditions, 'NonStructuralSchema') !== undefined
  return isThere ? conditions.filter(({ type }) => type !== 'NonStructuralSchema') : (conditions as V1CustomResourceDefinitionCondition[])
}

function structureCondition({ spec }: Definition): DefinitionCondition | undefined {
  const type = 'NonStructuralSchema'
  const check = new Check(spec, 'spec')
  if (spec.preserveUnknownFields) check.at('preserveUnknownFields').invalid('must be false')
  for (const [index, { name, schema }] of spec.versions.entries()) {
    const given = schema?.openAPIV3Schema
    if (given == null) continue
    const unsupported = unsupportedField(given)
    if (unsupported !== undefined) {
      const message = `failed to check validation schema for version ${name}: ${unsupported}`
      return { type, status: 'Unknown', reason: 'StructuralError', message }
    }
    validateStructural(check.at('versions').at(index).at('schema').at('openAPIV3Schema').present)
  }
  if (!check.failed) return undefined
  return { type, status: 'True', reason: 'Violations', message: aggregateMessages(check.errors.map(fieldErrorText)) }
}
